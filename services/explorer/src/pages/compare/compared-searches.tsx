import { useMemo } from "preact/hooks";
import { useKey } from "../../api/kept-key.ts";
import type { TimeseriesStats } from "../../api/operations.ts";
import { plansOfService, timeseriesOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { ChartTable } from "../../charts/chart-table.tsx";
import { SERIES_COLORS } from "../../charts/colors.ts";
import type { Series } from "../../charts/series.ts";
import { TimeChart } from "../../charts/time-chart.tsx";
import { Loaded } from "../../faults/loaded.tsx";
import { searchPath } from "../../routing/paths.ts";
import { Clamped } from "../../shell/clamped.tsx";
import { toTime } from "../../text/format.ts";
import { Hostile, visible } from "../../text/hostile.tsx";
import { type Days, periodOf } from "./period.ts";

type ComparedSearchesProps = {
  /** One or two. */
  readonly searches: readonly ComparedSearch[];
  readonly days: Days;
};
type ComparedSearch = {
  readonly query: string;
  /** The id of the element that says why it failed. */
  readonly errorId: string;
};

export function ComparedSearches({ searches, days }: ComparedSearchesProps) {
  const { key } = useKey();
  const plans = useAnswer(plansOfService());
  const queries = searches.map(({ query }) => query);
  return (
    <section aria-label="Addresses over time">
      <Loaded of={plans} what="how far your plan reaches">
        {({ caller: { reach_days: reachDays } }) => {
          const { start } = periodOf(days, reachDays, Date.now());
          // Afresh for each question: two answers to different ones must not share a chart.
          const asked = [key, start, days, ...queries].join("\n");
          return <WithinReach key={asked} searches={searches} days={days} reachDays={reachDays} />;
        }}
      </Loaded>
    </section>
  );
}

type WithinReachProps = ComparedSearchesProps & { readonly reachDays: number };

function WithinReach({ searches, days, reachDays }: WithinReachProps) {
  const { interval, start } = periodOf(days, reachDays, Date.now());
  const [one, other] = searches;
  const questionOf = (search: ComparedSearch | undefined) =>
    search === undefined ? undefined : timeseriesOf(search.query, interval, start);
  const first = useAnswer(questionOf(one));
  const second = useAnswer(questionOf(other));
  const queries = searches.map(({ query }) => query);
  return (
    <>
      <Loaded of={first} what="the first search" errorId={one?.errorId}>
        {(counts) => {
          if (other !== undefined && second.data === undefined) return null;
          const all = second.data === undefined ? [counts] : [counts, second.data];
          return <Compared queries={queries} counts={all} days={days} reachDays={reachDays} />;
        }}
      </Loaded>
      {other === undefined ? null : (
        <Loaded of={second} what="the second search" errorId={other.errorId}>
          {() => null}
        </Loaded>
      )}
    </>
  );
}

type ComparedProps = {
  readonly queries: readonly string[];
  readonly counts: readonly TimeseriesStats[];
  readonly days: Days;
  readonly reachDays: number;
};

function Compared({ queries, counts, days, reachDays }: ComparedProps) {
  const { widthMs, end: now } = periodOf(days, reachDays, Date.now());
  // An hour may begin between the two answers.
  const buckets = Math.min(...counts.map(({ data }) => data.length));
  const starts = useMemo(
    () => (counts[0]?.data ?? []).slice(0, buckets).map(({ date }) => toTime(date) / 1_000),
    [counts[0], buckets],
  );
  const series = useMemo(
    () =>
      counts.map(
        ({ data }, index): Series => ({
          label: queries[index] ?? "",
          values: data.slice(0, buckets).map(({ count }) => count),
          color: SERIES_COLORS[index] ?? "series-rest",
        }),
      ),
    [queries.join("\n"), ...counts, buckets],
  );
  const [from] = starts;
  if (from === undefined) return <p class="empty">The period is empty.</p>;
  const wholeEnd = (starts.at(-1) ?? from) + widthMs / 1_000;
  const edges = [...starts.slice(1), Math.min(wholeEnd, now / 1_000)];
  const end = edges.at(-1) ?? from;
  const label = "Addresses in each bucket that match each search";
  return (
    <>
      <Clamped days={Number(days)} start={toTimestamp(from)} end={toTimestamp(wholeEnd)} />
      <TimeChart label={label} starts={starts} end={end} series={series} isStacked={false} />
      <ul class="legend">
        {series.map(({ label: query, color }) => (
          <li key={query}>
            <span class={`key fill-${color}`} />{" "}
            <a href={searchPath(query, days)}>
              <Hostile text={query} />
            </a>
          </li>
        ))}
      </ul>
      <p class="faint hint">
        An address counts in each hour or day in which it matched by what it did then. Both lines may count it.
      </p>
      <ChartTable
        caption={label}
        headings={series.map(({ label: query }) => visible(query))}
        rows={starts.map((start, bucket) => ({
          start: toTimestamp(start),
          end: toTimestamp(edges[bucket] ?? end),
          values: series.map(({ values }) => values[bucket] ?? 0),
        }))}
      />
    </>
  );
}

const toTimestamp = (seconds: number) => new Date(seconds * 1_000).toISOString();
