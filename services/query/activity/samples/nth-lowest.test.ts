import fc from "fast-check";
import { expect, test } from "vitest";
import { nthLowest } from "./nth-lowest.ts";

const numbers = fc.array(
  fc.oneof(fc.constantFrom(0, 0xff, 0x100, 0x8000_0000, 0xffff_ffff), fc.integer({ min: 0, max: 0xffff_ffff })),
  { minLength: 1 },
);

test("each number in ascending order is found, those that are repeated as often as they come", () => {
  fc.assert(
    fc.property(numbers, (all) => {
      const given = Uint32Array.from(all);
      const found = all.map((_, index) => nthLowest(given, given.length, index + 1));
      expect(found).toEqual([...given.toSorted()]);
    }),
  );
});

test("only the first so many numbers count", () => {
  expect(nthLowest(Uint32Array.of(9, 7, 8, 1, 2), 3, 1)).toBe(7);
  expect(nthLowest(Uint32Array.of(9, 7, 8, 1, 2), 3, 3)).toBe(9);
});
