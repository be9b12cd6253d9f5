import { useMemo } from "preact/hooks";
import type { StatsByHour } from "../../api/operations.ts";
import { ChartTable } from "../../charts/chart-table.tsx";
import { TimeChart } from "../../charts/time-chart.tsx";

export function Hours({ hours, metadata }: StatsByHour) {
  const shown = useMemo(
    () => ({
      starts: hours.map(({ start }) => Date.parse(start) / 1_000),
      end: Date.parse(metadata.end_date) / 1_000,
      series: [{ label: "Addresses", values: hours.map(({ active_ips: count }) => count), color: "accent" as const }],
    }),
    [hours, metadata.end_date],
  );
  return (
    <>
      <TimeChart label="Distinct addresses in each hour" {...shown} />
      <ChartTable
        caption="Distinct addresses in each hour"
        headings={["Addresses"]}
        rows={hours.map(({ start, end, active_ips: count }) => ({ start, end, values: [count] }))}
      />
    </>
  );
}
