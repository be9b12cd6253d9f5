import fc from "fast-check";
import { expect, test } from "vitest";
import { sortAddresses } from "./sort-addresses.ts";

test("addresses are the same ones, ascending, however close to each other they are", () => {
  const shapes = fc.record({
    length: fc.nat(1_200),
    seed: fc.integer(),
    // So many upper bits are the same.
    shared: fc.constantFrom(0, 4, 8, 12, 24, 32),
  });
  fc.assert(
    fc.property(shapes, ({ length, seed, shared }) => {
      const addresses = Uint32Array.from({ length }, (_, place) => {
        const spread = Math.imul((seed + place) ^ (seed >>> 7), 0x9e3779b1) >>> 0;
        return shared === 32 ? 0xffff_ffff : 0xff00_0000 ^ (spread >>> shared);
      });
      expect([...sortAddresses(addresses.slice())]).toEqual([...addresses].sort((one, other) => one - other));
    }),
  );
});
