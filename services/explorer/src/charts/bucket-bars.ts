import type uPlot from "uplot";

/** Narrower bars stand without a gap between them. */
const NARROW_PX = 4;

/**
 * Draws each bar from the start of its bucket to its end, whatever the widths of the buckets: a bar that is narrower
 * than its bucket would show an event at a time when there was none.
 * @param edges the starts of the buckets, and the end of the last one.
 */
export function bucketBars(edges: readonly number[]): uPlot.Series.PathBuilder {
  return (chart, series) => {
    const fill = new Path2D();
    const ground = chart.valToPos(0, "y", true);
    for (const [bucket, value] of (chart.data[series] ?? []).entries()) {
      const [start, end] = [edges[bucket], edges[bucket + 1]];
      if (start === undefined || end === undefined || typeof value !== "number" || value === 0) continue;
      const [left, right] = [chart.valToPos(start, "x", true), chart.valToPos(end, "x", true)];
      const gap = right - left < NARROW_PX ? 0 : 1;
      // The least value is seen, too.
      const height = Math.max(1, ground - chart.valToPos(value, "y", true));
      fill.rect(left, ground - height, right - left - gap, height);
    }
    return { fill };
  };
}

/** The number of the bucket that a time is in; undefined before the first and from the end of the last one on. */
export function bucketAt(edges: readonly number[], time: number): number | undefined {
  const bucket = edges.findLastIndex((start) => start <= time);
  return bucket === -1 || bucket === edges.length - 1 ? undefined : bucket;
}
