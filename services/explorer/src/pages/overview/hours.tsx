import { useMemo } from "preact/hooks";
import { ChartTable } from "../../charts/chart-table.tsx";
import { TimeChart } from "../../charts/time-chart.tsx";

type HoursProps = {
  readonly what: { readonly heading: string; readonly caption: string };
  /** RFC 3339, like the end. */
  readonly hours: readonly { readonly start: string; readonly end: string; readonly count: number }[];
  readonly end: string;
};

/** A count for each hour, as a chart and as a table. */
export function Hours({ what: { heading, caption }, hours, end }: HoursProps) {
  const counts = hours.map(({ count }) => count);
  const shown = useMemo(
    () => ({
      starts: hours.map(({ start }) => Date.parse(start) / 1_000),
      end: Date.parse(end) / 1_000,
      series: [{ label: heading, values: counts, color: "accent" as const }],
    }),
    // The counts of hours that have passed can change, too.
    [heading, end, counts.join()],
  );
  return (
    <>
      <TimeChart label={caption} {...shown} />
      <ChartTable
        caption={caption}
        headings={[heading]}
        rows={hours.map(({ start, end, count }) => ({ start, end, values: [count] }))}
      />
    </>
  );
}
