import fc from "fast-check";
import { expect, test } from "vitest";
import { sortNumbers } from "./sort-numbers.ts";

const numbers = fc.array(
  fc.oneof(fc.constantFrom(0, 0xff, 0xff00, 0x8000_0000, 0xffff_ffff), fc.integer({ min: 0, max: 0xffff_ffff })),
);

test("numbers are sorted where they are, one array after the other", () => {
  fc.assert(
    fc.property(fc.array(numbers, { maxLength: 4 }), (arrays) => {
      for (const array of arrays) {
        const given = Uint32Array.from([7, ...array, 5]);
        sortNumbers(given.subarray(1, -1));
        expect([...given]).toEqual([7, ...Uint32Array.from(array).sort(), 5]);
      }
    }),
  );
});
