import { recipesFor } from "@noisefloor/domain/feeds/callback-recipes.ts";
import type { Feed } from "../../api/operations.ts";
import { serviceUrl } from "../../routing/paths.ts";
import { oneOf, useParameters } from "../../routing/use-parameters.ts";
import { Choice } from "../../shell/controls/choice.tsx";
import { CopyButton } from "../../shell/controls/copy-button.tsx";

const PLACEHOLDER = "TOKEN";

type RecipesProps = Pick<Feed, "id" | "name" | "of"> & {
  /** Empty: the lines have a placeholder. */
  readonly token: string;
};

/** The lines to paste into a consumer. */
export function Recipes({ id, name, of, token }: RecipesProps) {
  const recipes = recipesFor(of);
  const consumers = recipes.map(({ consumer }) => consumer);
  const [first = ""] = consumers;
  const { values, set } = useParameters({ consumer: first });
  const consumer = oneOf(consumers, values.consumer, first);
  const recipe = recipes.find((one) => one.consumer === consumer);
  if (recipe === undefined) return null;
  const feed = { url: serviceUrl(), id, name, token: token === "" ? PLACEHOLDER : token };
  const lines = recipe.lines(feed);
  return (
    <section aria-labelledby="recipes">
      <div class="bar-of-choices">
        <h2 id="recipes">Lines to paste</h2>
        <Choice
          label="For"
          name="consumer"
          options={consumers.map((one) => [one, one] as const)}
          value={consumer}
          onChoose={(chosen) => set({ consumer: chosen }, true)}
        />
      </div>
      <p>Into {recipe.destination}.</p>
      <pre class="lines" data-recipe={consumer}>
        {lines}
      </pre>
      <p class="actions">
        <CopyButton text={lines}>Copy the lines</CopyButton>
      </p>
      {token === "" ? (
        <p class="faint">
          Make a token above, or put yours in the place of <code>{PLACEHOLDER}</code>.
        </p>
      ) : null}
    </section>
  );
}
