import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { HOUR_SECONDS, segmentCount, segmentsOf } from "../address-sets/hour-blocks.ts";
import { countPerBucket, countPerWideBucket, MAX_WIDE_BUCKETS } from "./queries.ts";

/** From this width on, counting bits is faster than merging the sets of a bucket's hours. */
const MIN_WIDE_SECONDS = 17 * HOUR_SECONDS;

/** Buckets of `width` from `start`, and the hours of them that are counted; times in seconds since 1970 UTC. */
export type Grid = { tag: string; scopes: Scope[]; from: number; end: number; start: number; width: number };

/** Counts the addresses of each bucket in the store: wide ones by the bits of each address, others by the hours' sets. */
export async function countBuckets(grid: Grid, buckets: number, read: Read): Promise<Uint32Array> {
  const { tag, scopes, from, end, start, width } = grid;
  const rows = areWide(grid, buckets)
    ? await read(countPerWideBucket({ buckets, segments: segmentCount(width) }), {
        ...{ tag, scopes, from, end },
        ...segmentsOf({ from, end }, { start, width }),
      })
    : await read(countPerBucket(scopes.length), grid);
  const counts = new Uint32Array(buckets);
  for (const { bucket, active_ips } of rows) counts[bucket] = active_ips;
  return counts;
}

/** Narrow buckets cut a block into many segments, and the bits of many buckets do not fit into a number. */
export function areWide({ width }: Pick<Grid, "width">, buckets: number): boolean {
  return width >= MIN_WIDE_SECONDS && buckets <= MAX_WIDE_BUCKETS;
}
