import { useRef } from "preact/hooks";
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
import type { Search } from "../../search/narrowing-value.tsx";
import { QueryWarnings } from "../../search/query-warnings.tsx";
import { Choice } from "../../shell/controls/choice.tsx";
import { plural } from "../../text/format.ts";
import { Examples } from "./examples.tsx";
import { Matches } from "./matches.tsx";
import { QueryErrors } from "./query-errors.tsx";
import { QueryStats } from "./query-stats.tsx";
import { QueryValues } from "./query-values.tsx";
import { type Typed, useTyped } from "./use-typed.ts";

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
  const { onType, ...typed } = useTyped(query);
  usePageTitle(query === "" ? "Search" : query);
  return (
    <>
      <h1>Search</h1>
      <QueryForm query={query} days={days} onType={onType} />
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
      <Results query={query} days={days} {...typed} />
    </>
  );
}

type QueryFormProps = Search & { readonly onType: (text: string) => void };

function QueryForm({ query, days, onType }: QueryFormProps) {
  const { route } = useLocation();
  const search = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    route(searchPath(String(new FormData(event.currentTarget).get("query") ?? "").trim(), days));
  };
  return (
    <search class="large">
      <form onSubmit={search}>
        <QueryInput
          name="query"
          query={query}
          days={days}
          label="Query"
          errorId="query-errors"
          onType={(text) => onType(text.trim())}
        />
        <button type="submit">Search</button>
      </form>
    </search>
  );
}

/**
 * The answers to what is typed, and until it is a right query those to the last one that was. Matches are asked for only
 * then, so that an error costs nothing and shows its place.
 * @param query what was searched with Enter, or by the page's URL.
 */
function Results({ query, days, text, isSettled }: Search & Typed) {
  const validation = useAnswer(text === "" ? undefined : validationOf(text));
  const { data: checked, failure } = validation;
  const lastRight = useRef<QueryValidation>(undefined);
  if (checked?.valid === true) lastRight.current = checked;
  const isWrong = text !== "" && checked?.valid === false && checked.query === text;
  const right = isWrong && text === query ? undefined : lastRight.current;
  const isEmpty = query === "" && (text === "" || (right === undefined && failure === undefined));
  return (
    <>
      {isWrong && isSettled ? <QueryErrors {...checked} /> : null}
      {isEmpty ? (
        <Examples />
      ) : (
        <Loaded of={validation} what="whether the query is right">
          {() =>
            right === undefined ? null : (
              <div class={right.query === text ? "" : "outdated"}>
                <Found
                  search={{ query: right.query, days }}
                  checked={right}
                  isTyped={right.query !== query}
                  isSettled={isSettled}
                />
              </div>
            )
          }
        </Loaded>
      )}
    </>
  );
}

type FoundProps = {
  readonly search: Search;
  readonly checked: QueryValidation;
  readonly isTyped: boolean;
  readonly isSettled: boolean;
};

function Found({ search, checked, isTyped, isSettled }: FoundProps) {
  const { key } = useKey();
  return (
    <>
      {isSettled ? <QueryWarnings warnings={checked.warnings} /> : null}
      {search.query.includes(":") ? null : (
        <p>
          <a href={pagePath("/tags", { name: search.query })}>Tags with this in their names</a>
        </p>
      )}
      <QueryStats search={search} />
      <QueryValues search={search} />
      <Matches key={`${search.days} ${key}`} search={search} isTyped={isTyped} />
    </>
  );
}
