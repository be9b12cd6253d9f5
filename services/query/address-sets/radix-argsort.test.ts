import fc from "fast-check";
import { expect, test } from "vitest";
import { argsort } from "./radix-argsort.ts";

const number = fc.oneof(
  fc.constantFrom(0, 0xffff, 0x10000, 0xffff_0000, 0xffff_ffff),
  fc.integer({ min: 0, max: 0xffff_ffff }),
);

test("the indexes are in the order of their numbers, and those of the same number ascend", () =>
  fc.assert(
    fc.asyncProperty(fc.array(number), async (all) => {
      const given = Uint32Array.from(all);
      const expected = [...given.keys()].sort((one, other) => (given[one] ?? 0) - (given[other] ?? 0) || one - other);
      expect([...(await argsort(given))]).toEqual(expected);
    }),
  ));
