import { useMemo } from "preact/hooks";
import type { Timeline, TimelineField } from "../../../api/operations.ts";
import { allTags, timelineOf } from "../../../api/questions.ts";
import { useAnswer } from "../../../api/use-answer.ts";
import { ChartTable } from "../../../charts/chart-table.tsx";
import { TimeChart } from "../../../charts/time-chart.tsx";
import { Loaded } from "../../../faults/loaded.tsx";
import { oneOf, useParameters } from "../../../routing/use-parameters.ts";
import { Clamped } from "../../../shell/clamped.tsx";
import { Choice } from "../../../shell/controls/choice.tsx";
import { PeriodChoice } from "../../../shell/controls/period-choice.tsx";
import { formatAgo, formatMinute, toTime } from "../../../text/format.ts";
import { Hostile, visible } from "../../../text/hostile.tsx";
import { DAYS, daysBackTo, USUAL_DAYS } from "./days-back.ts";
import { toSeries } from "./timeline-series.ts";

const FIELDS: readonly (readonly [TimelineField, string])[] = [
  ["tag_ids", "Tag"],
  ["destination_port", "Port"],
  ["http_path", "HTTP path"],
  ["http_user_agent", "User agent"],
  ["classification", "Classification"],
];
/** So that a chart has a few dozen bars. */
const WIDTHS = { 1: ["1h", 1], 7: ["4h", 4], 30: ["1d", 24], 90: ["1d", 24] } as const;

type AddressTimelineProps = {
  readonly ip: string;
  readonly hasTags: boolean;
  /** In UTC. */
  readonly lastSeen: string;
};

/**
 * The observations of an address over time, one lookup. Unless its reader chooses, it reaches back to where the address
 * was seen last, and shows a field that has values.
 */
export function AddressTimeline({ ip, hasTags, lastSeen }: AddressTimelineProps) {
  const usual = { by: hasTags ? "tag_ids" : "classification", days: daysBackTo(lastSeen, Date.now()) } as const;
  const { values, set } = useParameters(usual);
  const field = oneOf(
    FIELDS.map(([name]) => name),
    values.by,
    usual.by,
  );
  const days = oneOf(DAYS, values.days, usual.days);
  const [granularity, widthHours] = WIDTHS[days];
  const timeline = useAnswer(timelineOf(ip, field, Number(days), granularity));
  const tags = useAnswer(field === "tag_ids" ? allTags() : undefined);
  const names = useMemo(() => new Map(tags.data?.tags.map(({ id, name }) => [id, name])), [tags.data]);
  return (
    <section aria-labelledby="timeline">
      <div class="bar-of-choices">
        <h2 id="timeline">Observations over time</h2>
        <Choice label="By" name="by" options={FIELDS} value={field} onChoose={(by) => set({ by })} />
        <PeriodChoice days={DAYS} value={days} onChoose={(chosen) => set({ days: chosen })} />
      </div>
      <Loaded of={timeline} what="the timeline">
        {(data) => (
          <>
            <Clamped days={Number(days)} start={data.metadata.start} end={data.metadata.end} />
            {toTime(lastSeen) < Date.parse(data.metadata.start) ? (
              <p class="notice">
                It was last seen at {formatMinute(lastSeen)}, {formatAgo(lastSeen, Date.now())}, before this period.
              </p>
            ) : (
              <>
                {days === usual.days && days !== USUAL_DAYS ? (
                  <p class="faint">
                    It was last seen {formatAgo(lastSeen, Date.now())}, so this shows the last {days} days.
                  </p>
                ) : null}
                <Chart timeline={data} widthHours={widthHours} names={names} />
              </>
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

type ChartProps = {
  readonly timeline: Timeline;
  readonly widthHours: number;
  /** Names of tags by id. */
  readonly names: ReadonlyMap<string, string>;
};

function Chart({ timeline, widthHours, names }: ChartProps) {
  const { starts, end, series } = useMemo(() => toSeries(timeline, widthHours, names), [timeline, widthHours, names]);
  if (series.length === 0) {
    const what = timeline.metadata.field === "classification" ? "" : ", or none with this field";
    return <p class="empty">It was not observed in this period{what}.</p>;
  }
  const label = "Observations of the address over time";
  return (
    <>
      <TimeChart label={label} starts={starts} end={end} series={series} />
      {timeline.metadata.field === "tag_ids" ? (
        <p class="faint hint">An observation counts for each of its tags.</p>
      ) : null}
      <ul class="legend">
        {series.map((one) => (
          <li key={one.label}>
            <span class={`key fill-${one.color}`} /> <Hostile text={one.label} />
          </li>
        ))}
      </ul>
      <ChartTable
        caption={label}
        headings={series.map((one) => visible(one.label))}
        rows={starts.map((start, bucket) => ({
          start: toTimestamp(start),
          end: toTimestamp(starts[bucket + 1] ?? end),
          values: series.map((one) => one.values[bucket] ?? 0),
        }))}
      />
    </>
  );
}

const toTimestamp = (seconds: number) => new Date(seconds * 1_000).toISOString();
