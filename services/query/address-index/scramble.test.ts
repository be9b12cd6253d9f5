import fc from "fast-check";
import { expect, test } from "vitest";
import { scramble, unscramble } from "./scramble.ts";

test("an address comes back from its scrambled form, signed or unsigned", () => {
  const addresses = fc.oneof(fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1), fc.integer({ min: 0, max: 2 ** 32 - 1 }));
  fc.assert(
    fc.property(addresses, (address) => {
      expect(unscramble(scramble(address))).toBe(address);
      expect(unscramble(scramble(address) >>> 0)).toBe(address);
    }),
  );
});

test.each([1, 2, 256, 65_536])("addresses that are %d apart spread evenly over the upper bits", (step) => {
  const counts = new Uint32Array(256);
  for (let number = 0; number < 65_536; number++) {
    const part = scramble((number * step) % 2 ** 32) >>> 24;
    counts[part] = (counts[part] ?? 0) + 1;
  }
  // 256 each are expected, and by chance hardly ever 100 more or fewer.
  expect(Math.min(...counts)).toBeGreaterThan(128);
  expect(Math.max(...counts)).toBeLessThan(384);
});
