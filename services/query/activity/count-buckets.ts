import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { HOUR_SECONDS, segmentCount, segmentsOf } from "./hour-blocks.ts";
import { type BucketCount, countPerBand, countPerBucket, countPerWideBucket, MAX_WIDE_BUCKETS } from "./queries.ts";

/** From this width on, counting bits is faster than joining the addresses of a bucket's hours. */
const MIN_WIDE_SECONDS = 17 * HOUR_SECONDS;

/** Buckets of `width` from `start`, and the hours of them that are counted; times in seconds since 1970 UTC. */
export type Grid = { tag: string; scopes: Scope[]; from: number; end: number; start: number; width: number };
/** Distinct addresses by bucket; without empty buckets. */
export type Counts = ReadonlyMap<number, number>;

/**
 * Counts the addresses of each bucket. Wide ones are counted by the bits of each address. An hour is counted from its
 * sets: one alone is counted as it is; to merge those of several datasets takes longer than to join their bands, but
 * less of the store's memory. Others are counted by bands.
 */
export async function countBuckets(grid: Grid, read: Read): Promise<Counts> {
  const wide = wideBuckets(grid);
  if (wide !== undefined) return toCounts(await read(countPerWideBucket(wide.shape), wide.params));
  if (grid.width > HOUR_SECONDS) return countBands(grid, [], read);
  return toCounts(await read(countPerBucket(grid.scopes.length), grid));
}

/**
 * Counts the addresses of each bucket whose bands of hash values begin at some value or above it.
 * @param lowest that value for each bucket; of those without one, all bands count.
 */
export async function countBands(grid: Grid, lowest: readonly number[], read: Read): Promise<Counts> {
  return toCounts(await read(countPerBand(grid.scopes.length), { ...grid, lowest }));
}

function toCounts(rows: readonly BucketCount[]): Counts {
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
