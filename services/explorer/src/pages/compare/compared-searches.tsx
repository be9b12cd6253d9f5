import { useMemo } from "preact/hooks";
import type { TimeseriesStats } from "../../api/operations.ts";
import { timeseriesOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { ChartTable } from "../../charts/chart-table.tsx";
import { SERIES_COLORS } from "../../charts/colors.ts";
import type { Series } from "../../charts/series.ts";
import { TimeChart } from "../../charts/time-chart.tsx";
import { searchPath } from "../../routing/paths.ts";
import { Clamped } from "../../shell/clamped.tsx";
import { Loaded } from "../../shell/loaded.tsx";
import { toTime } from "../../text/format.ts";
import { Hostile, visible } from "../../text/hostile.tsx";
import { type Days, periodOf } from "./period.ts";

type ComparedSearchesProps = {
  /** One or two. */
  readonly queries: readonly string[];
  readonly days: Days;
};

export function ComparedSearches({ queries, days }: ComparedSearchesProps) {
  const { interval, start } = periodOf(days, Date.now());
  const [one = "", other] = queries;
  const first = useAnswer(timeseriesOf(one, interval, start));
  const second = useAnswer(other === undefined ? undefined : timeseriesOf(other, interval, start));
  return (
    <section aria-label="Addresses over time" id="compare-failure">
      <Loaded of={first} what="the first search">
        {(counts) =>
          other === undefined ? (
            <Compared queries={[one]} counts={[counts]} days={days} />
          ) : (
            <Loaded of={second} what="the second search">
              {(others) => <Compared queries={[one, other]} counts={[counts, others]} days={days} />}
            </Loaded>
          )
        }
      </Loaded>
    </section>
  );
}

type ComparedProps = ComparedSearchesProps & { readonly counts: readonly TimeseriesStats[] };

function Compared({ queries, counts, days }: ComparedProps) {
  const { widthMs, end: now } = periodOf(days, Date.now());
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
  const edges = [...starts.slice(1), Math.min((starts.at(-1) ?? from) + widthMs / 1_000, now / 1_000)];
  const end = edges.at(-1) ?? from;
  const label = "Addresses in each bucket that match each search";
  return (
    <>
      <Clamped days={Number(days)} start={toTimestamp(from)} end={toTimestamp(end)} />
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
