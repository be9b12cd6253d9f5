import fc from "fast-check";
import { expect, test } from "vitest";
import { groupBuckets } from "./group-buckets.ts";

const OPTIONS = { mostPerQuery: 1_000, mostPerBucket: 500, few: 100, groupsAtOnce: 2 };
const sumsOf = (candidates: readonly number[]) =>
  [...groupBuckets(candidates, OPTIONS)].map(({ first, end }) =>
    candidates.slice(first, end).reduce((sum, count) => sum + count, 0),
  );

test("each bucket is in one group, one with too many candidates alone, and no query reads too many", () => {
  const candidates = fc.array(fc.oneof(fc.nat(20), fc.nat(600), fc.constantFrom(0, 5_000)));
  fc.assert(
    fc.property(candidates, (counts) => {
      const groups = [...groupBuckets(counts, OPTIONS)];
      expect(groups.map(({ first }) => first)).toEqual([0, ...groups.map(({ end }) => end)].slice(0, groups.length));
      expect(groups.at(-1)?.end ?? 0).toBe(counts.length);
      for (const { first, end } of groups) {
        const group = counts.slice(first, end);
        if (group.length === 1) continue;
        expect(Math.max(...group)).toBeLessThanOrEqual(OPTIONS.mostPerBucket);
        expect(group.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(OPTIONS.mostPerQuery);
      }
    }),
  );
});

test("groups have equal shares, also after a bucket that is alone and before empty ones", () => {
  const alike = Array.from({ length: 380 }, (_, place) => 9 + (place % 3));
  const shares = sumsOf(alike);
  expect(shares).toHaveLength(4);
  for (const share of shares) expect(Math.abs(share - 950)).toBeLessThanOrEqual(11);
  expect(sumsOf([...alike, 0, 0, 0])).toEqual(shares);
  expect(sumsOf([90_000, ...alike, 0, 0, 0])).toEqual([90_000, ...shares]);
  expect(sumsOf([60, 20, 20])).toEqual([100]);
  expect(sumsOf([60, 20, 40])).toEqual([60, 60]);
});
