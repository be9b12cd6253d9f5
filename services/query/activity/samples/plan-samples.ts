import type { Window } from "@noisefloor/domain/time/window.ts";
import { HIGHEST_HASH } from "../hash-threshold.ts";
import { bandsOf, type HashBands } from "./hash-bands.ts";
import type { SampleSizes } from "./queries.ts";

/** What to read of a bucket for its list. */
export type BucketPlan = {
  readonly window: Window;
  /** Rows that begin with hash values up to this have enough distinct addresses; up to the highest one, all have. */
  readonly threshold: number;
  /** How many addresses these rows have together. */
  readonly candidates: number;
  /** The distinct addresses of the bucket, where no two rows can have the same one. */
  readonly count: number | undefined;
};

/** Plans to read `wanted` distinct addresses of each bucket, or all that it has, and few more. */
export function planSamples(blocks: readonly SampleSizes[], windows: readonly Window[], wanted: number): BucketPlan[] {
  const { froms, numberOf } = bandsOf(blocks);
  const largest = new Uint32Array(windows.length * froms.length);
  const together = new Uint32Array(largest.length);
  for (const block of blocks) {
    for (let row = 0; row < block.bucket.length; row++) {
      const at = (block.bucket[row] ?? 0) * froms.length + numberOf(block.hash_from[row] ?? 0);
      largest[at] = block.largest[row] ?? 0;
      together[at] = block.together[row] ?? 0;
    }
  }
  return windows.map((window, bucket) => {
    const first = bucket * froms.length;
    const sizes = { froms, largest: largest.subarray(first), together: together.subarray(first) };
    return { window, ...planBucket(sizes, wanted) };
  });
}

/** By band: of the largest row, and of all rows together. */
type BucketSizes = Pick<HashBands, "froms"> & {
  readonly largest: Uint32Array;
  readonly together: Uint32Array;
};

/** Rows of different bands have different addresses, so their largest ones have so many distinct addresses at least. */
function planBucket({ froms, largest, together }: BucketSizes, wanted: number): Omit<BucketPlan, "window"> {
  let [distinct, candidates] = [0, 0];
  let enough: Pick<BucketPlan, "threshold" | "candidates"> | undefined;
  let isEachOnce = true;
  for (const [band, hashFrom] of froms.entries()) {
    const [most, all] = [largest[band] ?? 0, together[band] ?? 0];
    if (all === 0) continue;
    // There are further ones: what was enough before is not all.
    if (enough === undefined && distinct >= wanted) enough = { threshold: hashFrom - 1, candidates };
    isEachOnce &&= most === all;
    distinct += most;
    candidates += all;
  }
  const count = isEachOnce ? distinct : undefined;
  return enough === undefined ? { threshold: HIGHEST_HASH, candidates, count } : { ...enough, count };
}
