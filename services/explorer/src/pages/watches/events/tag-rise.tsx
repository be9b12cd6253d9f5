import type { WatchEvent } from "../../../api/operations.ts";
import { ChartTable } from "../../../charts/chart-table.tsx";
import { Sparkline } from "../../../charts/sparkline.tsx";
import { tagPath } from "../../../routing/paths.ts";
import { formatCount, formatMinute, plural } from "../../../text/format.ts";
import { Hostile } from "../../../text/hostile.tsx";

const HOUR_MS = 3_600_000;

/** The count of an hour against what is usual, and the hours that say what is usual. */
export function TagRise({ tag, hour, count, expected, made_from: past }: TagRiseProps) {
  const { median, low, high } = expected;
  const rowOf = (start: string, value: number) => ({
    start,
    end: new Date(Date.parse(start) + HOUR_MS).toISOString(),
    values: [value],
  });
  return (
    <>
      <p data-rise>
        <a href={tagPath(tag.slug)}>
          <Hostile text={tag.name} />
        </a>{" "}
        had <strong>{plural(count, "address", "addresses")}</strong> in the hour from {formatMinute(hour)}, by the time
        of the event. Usual for this hour of the week are {amount(low)} to {amount(high)}, in the middle{" "}
        {amount(median)}.
      </p>
      <p>
        <Sparkline
          values={[...past.map((each) => each.count), count]}
          label={`The counts of ${plural(past.length, "hour")} of before, and at the end that of the event`}
        />{" "}
        <span class="faint">the hours that this is made of, and at the end the hour of the event</span>
      </p>
      <ChartTable
        caption="Hours of before, and the hour of the event"
        headings={["Addresses"]}
        rows={[...past.map((each) => rowOf(each.hour, each.count)), rowOf(hour, count)]}
      />
    </>
  );
}

type TagRiseProps = Extract<WatchEvent, { type: "tag_rises" }>["data"];

const amount = (value: number) => formatCount(Math.round(value * 10) / 10);
