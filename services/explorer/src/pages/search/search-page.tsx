import { useLocation } from "preact-iso";
import { useKey } from "../../api/kept-key.ts";
import type { QueryValidation } from "../../api/operations.ts";
import { validationOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { pagePath, searchPath } from "../../routing/paths.ts";
import { useParameters } from "../../routing/use-parameters.ts";
import { QueryInput } from "../../search/completion/query-input.tsx";
import { QueryWarnings } from "../../search/query-warnings.tsx";
import { Choice } from "../../shell/controls/choice.tsx";
import { plural } from "../../text/format.ts";
import { Examples } from "./examples.tsx";
import { Matches } from "./matches.tsx";
import { QueryErrors } from "./query-errors.tsx";
import { QueryStats } from "./query-stats.tsx";
import { QueryValues } from "./query-values.tsx";

const DAYS = ["", "1", "7", "30", "90"] as const;
const ANY_DAYS = /^(?:[1-9]|[1-8]\d|90)$/;

/** @param days also those of a link that a user cannot choose. */
const optionsWith = (days: string) =>
  [...new Set([...DAYS, days])].map(
    (one) => [one, one === "" ? "all that is stored" : plural(Number(one), "day")] as const,
  );

/** `/search`: which addresses match a query, how many, and what they have in common. */
export function SearchPage() {
  const { values, set } = useParameters({ query: "", days: "" });
  const { query } = values;
  const days = ANY_DAYS.test(values.days) ? values.days : "";
  usePageTitle(query === "" ? "Search" : query);
  return (
    <>
      <h1>Search</h1>
      <QueryForm key={query} query={query} days={days} />
      <div class="bar-of-choices">
        <Choice
          label="Observations of"
          name="days"
          options={optionsWith(days)}
          value={days}
          onChoose={(chosen) => set({ days: chosen })}
        />
      </div>
      {days === "" ? null : (
        <p class="faint">
          Every condition and number, also a classification, is about the observations of{" "}
          {days === "1" ? "this day" : `these ${days} days`} alone, in whole hours.
        </p>
      )}
      {query === "" ? <Examples /> : <Checked key={query} query={query} days={days} />}
    </>
  );
}

type QueryProps = {
  readonly query: string;
  /** How many days back observations count; empty for all. */
  readonly days: string;
};

function QueryForm({ query, days }: QueryProps) {
  const { route } = useLocation();
  const search = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    route(searchPath(String(new FormData(event.currentTarget).get("query") ?? "").trim(), days));
  };
  return (
    <search class="large">
      <form onSubmit={search}>
        <QueryInput name="query" query={query} label="Query" errorId="query-errors" />
        <button type="submit">Search</button>
      </form>
    </search>
  );
}

/** Asks for matches only when the query is right, so that an error costs nothing and shows its place. */
function Checked({ query, days }: QueryProps) {
  const validation = useAnswer(validationOf(query));
  return (
    <Loaded of={validation} what="whether the query is right">
      {(checked) =>
        checked.valid ? <Found query={query} days={days} checked={checked} /> : <QueryErrors {...checked} />
      }
    </Loaded>
  );
}

function Found({ query, days, checked }: QueryProps & { readonly checked: QueryValidation }) {
  const { key } = useKey();
  return (
    <>
      <QueryWarnings warnings={checked.warnings} />
      {query.includes(":") ? null : (
        <p>
          <a href={pagePath("/tags", { name: query })}>Tags with this in their names</a>
        </p>
      )}
      <QueryStats query={query} days={days} />
      <QueryValues query={query} days={days} />
      <Matches key={`${days} ${key}`} query={query} days={days} />
    </>
  );
}
