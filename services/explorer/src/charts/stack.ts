type Stacked<Series> = { readonly series: Series; readonly heights: readonly number[] };

/**
 * Each series with the heights of its stacked bars: its values on top of those of all series before it. Reversed, for
 * the highest is drawn first and the others over it.
 */
export function stack<Series extends { readonly values: readonly number[] }>(
  all: readonly Series[],
): Stacked<Series>[] {
  const below: number[] = [];
  const stacked = all.map((series) => {
    const heights = series.values.map((value, bucket) => {
      below[bucket] = (below[bucket] ?? 0) + value;
      return below[bucket];
    });
    return { series, heights };
  });
  return stacked.reverse();
}
