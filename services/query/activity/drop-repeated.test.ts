import fc from "fast-check";
import { expect, test } from "vitest";
import { dropRepeated, slotsFor } from "./drop-repeated.ts";

const addresses = fc.array(fc.oneof(fc.nat(20), fc.integer({ min: 0xffff_fff0, max: 0xffff_ffff })));

test("each address of a part is left once, in the order of the first ones, and what is before it stays", () => {
  const slots = slotsFor(1_000).fill(7);
  fc.assert(
    fc.property(addresses, addresses, (before, part) => {
      const all = Uint32Array.from([...before, ...part]);
      const end = dropRepeated(all, { from: before.length, end: all.length }, slots);
      expect([...all.subarray(0, end)]).toEqual([...before, ...new Set(part)]);
    }),
  );
});
