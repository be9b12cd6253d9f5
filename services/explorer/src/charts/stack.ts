/**
 * The heights of stacked bars: each series' values on top of those of all series before it. Reversed, for the highest
 * is drawn first and the others over it.
 */
export function stack(series: readonly (readonly number[])[]): number[][] {
  const below: number[] = [];
  const heights = series.map((values) =>
    values.map((value, bucket) => {
      below[bucket] = (below[bucket] ?? 0) + value;
      return below[bucket];
    }),
  );
  return heights.reverse();
}
