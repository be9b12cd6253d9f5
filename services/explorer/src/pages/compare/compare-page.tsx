import { useLocation } from "preact-iso";
import { comparePath } from "../../routing/paths.ts";
import { oneOf, useParameters } from "../../routing/use-parameters.ts";
import { QueryInput } from "../../search/completion/query-input.tsx";
import { PeriodChoice } from "../../shell/controls/period-choice.tsx";
import { usePageTitle } from "../../shell/layout.tsx";
import { ComparedSearches } from "./compared-searches.tsx";
import { DAYS } from "./period.ts";

const FIRST = "query";
const SECOND = "with";

/** `/compare`: how many addresses matched one or two searches in each hour or day. */
export function ComparePage() {
  const { values, set } = useParameters({ [FIRST]: "", [SECOND]: "", days: "7" });
  const { route } = useLocation();
  const days = oneOf(DAYS, values.days ?? "", "7");
  const queries = [values[FIRST] ?? "", values[SECOND] ?? ""];
  usePageTitle("Compare searches");
  const compare = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const data = new FormData(event.currentTarget);
    const text = (name: string) => String(data.get(name) ?? "").trim();
    route(comparePath(text(FIRST), text(SECOND), days === "7" ? "" : days));
  };
  return (
    <>
      <h1>Compare searches</h1>
      <p class="lead">How many addresses matched in each hour or day, by what they did in it.</p>
      <form class="fields" onSubmit={compare}>
        {([FIRST, SECOND] as const).map((name, index) => (
          <div class="field" key={`${name} ${queries[index]}`}>
            <span aria-hidden="true">{index === 0 ? "Search" : "Compared with"}</span>
            <QueryInput
              name={name}
              query={queries[index] ?? ""}
              label={index === 0 ? "Search" : "Compared with"}
              errorId="compare-failure"
            />
          </div>
        ))}
        <p class="actions">
          <button type="submit">Compare</button>
        </p>
      </form>
      {queries.every((query) => query === "") ? null : (
        <>
          <div class="bar-of-choices">
            <h2>Addresses over time</h2>
            <PeriodChoice days={DAYS} value={days} onChoose={(chosen) => set({ days: chosen })} />
          </div>
          <ComparedSearches queries={queries.filter((query) => query !== "")} days={days} />
        </>
      )}
    </>
  );
}
