import fc from "fast-check";
import { expect, test } from "vitest";
import { placesByHalf } from "./radix-argsort.ts";

const numbers = fc.array(
  fc.oneof(fc.constantFrom(0, 0xffff, 0x10000, 0xffff_0000, 0xffff_ffff), fc.integer({ min: 0, max: 0xffff_ffff })),
);

test("by the lower halves and then by the upper ones, the places are those of the sorted numbers", () => {
  fc.assert(
    fc.property(numbers, (all) => {
      const given = Uint32Array.from(all);
      const places = placesByHalf(given, "upper", placesByHalf(given, "lower"));
      expect([...places].sort((one, other) => one - other)).toEqual([...given.keys()]);
      expect(Array.from(places, (place) => given[place])).toEqual([...given.toSorted()]);
    }),
  );
});

test("places whose numbers have the same half stay in their order", () => {
  const given = Uint32Array.of(0x0002_0001, 0x0001_0002, 0x0002_0003, 0x0001_0004);
  expect([...placesByHalf(given, "upper")]).toEqual([1, 3, 0, 2]);
  expect([...placesByHalf(given, "upper", Uint32Array.of(3, 2, 1, 0))]).toEqual([3, 1, 2, 0]);
});
