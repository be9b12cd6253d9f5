import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { segmentCount, segmentsOf } from "./hour-blocks.ts";
import { countPerBucket, countPerWideBucket, MAX_WIDE_BUCKETS } from "./queries.ts";

/** From this width on, counting bits is faster than merging the sets of a bucket's hours. */
const MIN_WIDE_SECONDS = (17 * HOUR_MS) / 1_000;

/** Buckets of `width` from `start`, and the hours of them that are counted; times in seconds since 1970 UTC. */
export type Grid = { tag: string; scopes: Scope[]; from: number; end: number; start: number; width: number };
/** Distinct addresses by bucket; without empty buckets. */
export type Counts = ReadonlyMap<number, number>;

/** Counts the addresses of each bucket. */
export async function countBuckets(grid: Grid, read: Read): Promise<Counts> {
  const wide = wideBuckets(grid);
  const rows = await (wide === undefined
    ? read(countPerBucket(grid.scopes.length), grid)
    : read(countPerWideBucket(wide.shape), wide.params));
  return new Map(rows.map(({ bucket, active_ips }) => [bucket, active_ips]));
}

/** What a query of bits takes; undefined where the buckets are so narrow that many cut a block, or their bits too many. */
export function wideBuckets({ tag, scopes, from, end, start, width }: Grid) {
  const buckets = Math.ceil((end - start) / width);
  if (width < MIN_WIDE_SECONDS || buckets > MAX_WIDE_BUCKETS) return undefined;
  return {
    shape: { buckets, segments: segmentCount(width) },
    params: { tag, scopes, from, end, ...segmentsOf({ from, end }, { start, width }) },
  };
}
