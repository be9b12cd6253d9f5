import fc from "fast-check";
import { expect, test } from "vitest";
import { evenChunksOf } from "./chunks.ts";

const sizesOf = (sizes: readonly number[], bytes: number) => [...evenChunksOf(sizes, (size) => size, bytes)];

test("a little more than a chunk is one chunk or two halves, not a full one and a small one", () => {
  expect(sizesOf([4, 4, 1], 8)).toEqual([[4], [4, 1]]);
  expect(sizesOf(Array(17).fill(5), 80)).toEqual([Array(17).fill(5)]);
  expect(sizesOf(Array(18).fill(5), 80)).toEqual([Array(9).fill(5), Array(9).fill(5)]);
  expect(sizesOf([], 8)).toEqual([]);
});

test("all items are in a chunk, in order, and chunks differ by at most twice their largest item", () => {
  const items = fc.array(fc.nat(1_000), { maxLength: 200 });
  fc.assert(
    fc.property(items, fc.integer({ min: 1, max: 5_000 }), (sizes, bytes) => {
      const chunks = sizesOf(sizes, bytes);
      expect(chunks.flat()).toEqual(sizes);
      const sums = chunks.map((chunk) => chunk.reduce((sum, size) => sum + size, 0));
      const largest = Math.max(0, ...sizes);
      for (const sum of sums) expect(sum).toBeLessThanOrEqual(1.1 * bytes + largest);
      expect(Math.max(0, ...sums) - Math.min(...sums, Number.POSITIVE_INFINITY)).toBeLessThanOrEqual(2 * largest);
    }),
  );
});
