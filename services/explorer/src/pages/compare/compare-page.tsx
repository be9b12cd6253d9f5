import { useLocation } from "preact-iso";
import { usePageTitle } from "../../frame/layout.tsx";
import { comparePath } from "../../routing/paths.ts";
import { oneOf, useParameters } from "../../routing/use-parameters.ts";
import { QueryInput } from "../../search/completion/query-input.tsx";
import { PeriodChoice } from "../../shell/controls/period-choice.tsx";
import { ComparedSearches } from "./compared-searches.tsx";
import { DAYS } from "./period.ts";

const FIRST = "query";
const SECOND = "with";
const FIELDS = [FIRST, SECOND] as const;

/** `/compare`: how many addresses matched one or two searches in each hour or day. */
export function ComparePage() {
  const { values, set } = useParameters({ [FIRST]: "", [SECOND]: "", days: "7" });
  const { route } = useLocation();
  const days = oneOf(DAYS, values.days ?? "", "7");
  const searches = FIELDS.map((name) => ({ name, query: values[name] ?? "", errorId: `${name}-failure` }));
  const asked = searches.filter(({ query }) => query !== "");
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
        {searches.map(({ name, query, errorId }, index) => (
          <div class="field" key={`${name} ${query}`}>
            <span aria-hidden="true">{index === 0 ? "Search" : "Compared with"}</span>
            <QueryInput name={name} query={query} label={index === 0 ? "Search" : "Compared with"} errorId={errorId} />
          </div>
        ))}
        <p class="actions">
          <button type="submit">Compare</button>
        </p>
      </form>
      {asked.length === 0 ? null : (
        <>
          <div class="bar-of-choices">
            <h2>Addresses over time</h2>
            <PeriodChoice days={DAYS} value={days} onChoose={(chosen) => set({ days: chosen })} />
          </div>
          <ComparedSearches searches={asked} days={days} />
        </>
      )}
    </>
  );
}
