import type { Grid } from "./count-buckets.ts";
import { blocksOf } from "./hour-blocks.ts";

/** Up to which hash value the addresses of each bucket are read. A query takes longer the more values there are. */
export type HashTiers = {
  /** Ascending. */
  readonly thresholds: readonly number[];
  /** For each threshold and block, the bits of the hours whose addresses are read up to it at least. */
  readonly masks: readonly (readonly bigint[])[];
  /** For each bucket, its threshold or one that is not much higher. */
  readonly reached: readonly number[];
};

/** Up to so many times as many addresses are read as needed: one threshold for buckets of similar size. */
const MAX_SURPLUS = 2;

/** @param thresholds one for each bucket of the grid. */
export function tiersOf(thresholds: readonly number[], grid: Grid): HashTiers {
  const tiers: number[] = [];
  let lowest = 0;
  for (const threshold of [...new Set(thresholds)].toSorted((one, other) => one - other)) {
    if (tiers.length > 0 && threshold <= lowest * MAX_SURPLUS) {
      tiers[tiers.length - 1] = threshold;
    } else {
      tiers.push(threshold);
      lowest = threshold;
    }
  }
  const reached = thresholds.map((threshold) => tiers.find((tier) => tier >= threshold) ?? threshold);
  const spansFrom = (tier: number) =>
    reached.flatMap((threshold, bucket) => {
      const from = grid.start + bucket * grid.width;
      return threshold < tier ? [] : [{ from: Math.max(from, grid.from), end: Math.min(from + grid.width, grid.end) }];
    });
  return { thresholds: tiers, masks: tiers.map((tier) => blocksOf(grid, spansFrom(tier)).masks), reached };
}
