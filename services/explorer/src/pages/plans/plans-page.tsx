import type { Plans } from "../../api/operations.ts";
import { plansOfService } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { type Column, useSorted } from "../../table/use-sorted.tsx";
import { formatCount, plural } from "../../text/format.ts";

/** `/plans`: what each plan allows, and what the caller has left today. */
export function PlansPage() {
  usePageTitle("Plans");
  const plans = useAnswer(plansOfService());
  return (
    <>
      <h1>Plans</h1>
      <p class="lead">Lookups per UTC day, and how many days back tag activity, statistics and timelines reach.</p>
      <Loaded of={plans} what="the plans">
        {(data) => (
          <>
            <Caller {...data} />
            <PlanTable {...data} />
          </>
        )}
      </Loaded>
      <p class="faint">
        Each address that you look up is one lookup, found or not; a request for many addresses counts each distinct
        one, and the page of a network each that it lists. The page of an address takes up to five: the address, its
        timeline, the dates of its tags, its logins and, with a key, its sensors. Tags, tag activity and statistics do
        not count. Keys come from the operator of this service.
      </p>
    </>
  );
}

function Caller({ caller: { plan, lookups_per_day: perDay, lookups_left: left, reach_days: days } }: Plans) {
  return (
    <section aria-label="Your plan">
      <p>
        Your plan is <strong>{plan}</strong>.{" "}
        {perDay === undefined || left === undefined
          ? "It has no limit of lookups."
          : `You have ${formatCount(left)} of ${plural(perDay, "lookup")} left until midnight UTC.`}{" "}
        You see {plural(days, "day")} back.
      </p>
      {perDay === undefined || left === undefined ? null : (
        <meter min={0} max={perDay} value={left} aria-label="Lookups left today" />
      )}
    </section>
  );
}

const COLUMNS: readonly Column<Plans["plans"][number]>[] = [
  { heading: "Plan", by: ({ name }) => name },
  { heading: { number: "Lookups per day" }, by: ({ lookups_per_day: perDay = Number.MAX_VALUE }) => perDay },
  { heading: { number: "Reach" }, by: ({ reach_days: days }) => days },
];

function PlanTable({ plans, caller }: Plans) {
  const { sorted, head } = useSorted(plans, COLUMNS);
  return (
    <section>
      <ScrollRegion label="All plans">
        <table>
          <caption class="hidden">All plans</caption>
          {head}
          <tbody>
            {sorted.map(({ name, lookups_per_day: perDay, reach_days: days }) => (
              <tr key={name} class={name === caller.plan ? "own" : ""}>
                <th scope="row">
                  {name}
                  {name === caller.plan ? " (yours)" : ""}
                </th>
                <td class="number">{perDay === undefined ? "without limit" : formatCount(perDay)}</td>
                <td class="number">{plural(days, "day")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}
