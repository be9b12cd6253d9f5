import fc from "fast-check";
import { expect, test } from "vitest";
import type { Grid } from "./count-buckets.ts";
import { HIGHEST_HASH } from "./hash-threshold.ts";
import { tiersOf } from "./hash-tiers.ts";
import { BLOCK_SECONDS, HOUR_SECONDS } from "./hour-blocks.ts";

const START = 450_000 * HOUR_SECONDS;

const gridOf = (hours: Pick<Grid, "from" | "end" | "width">): Grid => ({ tag: "", scopes: [], start: START, ...hours });

const grids = fc
  .record({ width: fc.integer({ min: 1, max: 168 }), buckets: fc.integer({ min: 1, max: 40 }), cut: fc.nat(200) })
  .chain(({ width, buckets, cut }) => {
    const hours = width * buckets - (cut % width);
    const from = START + (cut % hours) * HOUR_SECONDS;
    const grid = gridOf({ from, end: START + hours * HOUR_SECONDS, width: width * HOUR_SECONDS });
    const thresholds = fc.array(fc.integer({ min: 1, max: HIGHEST_HASH }), { minLength: buckets, maxLength: buckets });
    return fc.tuple(fc.constant(grid), thresholds);
  });

test("an hour is read up to the threshold that its bucket reaches, its own or at most twice that, and no further", () => {
  fc.assert(
    fc.property(grids, ([grid, wanted]) => {
      const { thresholds, masks, reached } = tiersOf(wanted, grid);
      expect(thresholds).toEqual([...new Set(reached)].toSorted((one, other) => one - other));
      const surplus = wanted.map((threshold, bucket) => (reached[bucket] ?? 0) / threshold);
      expect(surplus.filter((times) => times < 1 || times > 2)).toEqual([]);

      const first = Math.floor(grid.from / BLOCK_SECONDS) * BLOCK_SECONDS;
      const hours = Array.from({ length: 64 * (masks[0]?.length ?? 0) }, (_, hour) => hour);
      const tiersAt = (hour: number) =>
        masks.filter((blocks) => ((blocks[Math.floor(hour / 64)] ?? 0n) >> BigInt(hour % 64)) & 1n).length;
      const expected = hours.map((hour) => {
        const time = first + hour * HOUR_SECONDS;
        if (time < grid.from || time >= grid.end) return 0;
        return thresholds.indexOf(reached[Math.floor((time - grid.start) / grid.width)] ?? 0) + 1;
      });
      expect(hours.map(tiersAt)).toEqual(expected);
    }),
  );
});

test("buckets of similar size have one threshold", () => {
  const grid = gridOf({ from: START, end: START + 4 * HOUR_SECONDS, width: HOUR_SECONDS });
  expect(tiersOf([100, 150, 200, 201], grid)).toMatchObject({ thresholds: [200, 201], reached: [200, 200, 200, 201] });
});
