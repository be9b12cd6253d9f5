import { WORST_FIRST } from "@noisefloor/domain/tags/classification.ts";
import type { Timeline } from "../../../api/operations.ts";
import { SERIES_COLORS } from "../../../charts/colors.ts";
import type { Series } from "../../../charts/series.ts";

const HOUR_SECONDS = 3_600;
const REST = "all others";

export type TimelineSeries = { readonly starts: number[]; readonly end: number; readonly series: Series[] };

/**
 * A timeline as series of a chart: the labels with the most observations, and one series for all others. Its buckets
 * are without gaps, and start at multiples of their width since 1970, as the service's do; the window cuts the first
 * and the last one.
 * @param names of tags, by id.
 */
export function toSeries(
  { metadata, results }: Timeline,
  widthHours: number,
  names: ReadonlyMap<string, string>,
): TimelineSeries {
  const width = widthHours * HOUR_SECONDS;
  const bucketOf = (timestamp: string) => Math.floor(Date.parse(timestamp) / 1_000 / width);
  const [start, end] = [Date.parse(metadata.start) / 1_000, Date.parse(metadata.end) / 1_000];
  const first = Math.floor(start / width);
  const starts = Array.from({ length: Math.ceil(end / width) - first }, (_, bucket) =>
    Math.max(start, (first + bucket) * width),
  );
  const byLabel = new Map<string, number[]>();
  for (const { data, label, timestamp } of results) {
    const values = byLabel.get(label) ?? starts.map(() => 0);
    byLabel.set(label, values);
    const bucket = bucketOf(timestamp) - first;
    values[bucket] = (values[bucket] ?? 0) + data;
  }
  const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const ranked = [...byLabel].sort(([, one], [, other]) => total(other) - total(one));
  const shown = ranked.slice(0, SERIES_COLORS.length).map(
    ([label, values], rank): Series => ({
      label: names.get(label) ?? label,
      values,
      color: WORST_FIRST.find((name) => name === label) ?? SERIES_COLORS[rank] ?? "series-rest",
    }),
  );
  const rest = ranked.slice(SERIES_COLORS.length).map(([, values]) => values);
  const summed = starts.map((_, bucket) => rest.reduce((sum, values) => sum + (values[bucket] ?? 0), 0));
  const others: Series[] = rest.length === 0 ? [] : [{ label: REST, values: summed, color: "series-rest" }];
  return { starts, end, series: [...shown, ...others] };
}
