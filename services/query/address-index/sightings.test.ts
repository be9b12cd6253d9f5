import fc from "fast-check";
import { expect, test } from "vitest";
import { createSightings, type Sighting } from "./sightings.ts";

type Recorded = { readonly address: number; readonly severity: number; readonly lastSeen: number };

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 20);

/** Few addresses, of which some share a page and others do not, so that they come again and again. */
const recorded: fc.Arbitrary<Recorded> = fc.record({
  address: fc.oneof(
    fc.integer({ min: 0x2d000000, max: 0x2d00000f }),
    fc.constantFrom(0, 0xffff, 0x10000, 0x2d00ffff, 0x2d010000, 0xffff_0000, 0xffff_ffff),
  ),
  severity: fc.integer({ min: 0, max: 4 }),
  lastSeen: fc.oneof(fc.integer({ min: NOW - 5, max: NOW + 5 }), fc.integer({ min: NOW - 90 * HOUR, max: NOW })),
});

/** The rule itself, over the plain list. */
function expected(all: readonly Recorded[], address: number, since: number): Sighting | undefined {
  const seen = all.filter((one) => one.address === address && one.lastSeen >= since);
  if (seen.length === 0) return undefined;
  return {
    lastSeen: Math.max(...seen.map(({ lastSeen }) => lastSeen)),
    severity: Math.max(...seen.map(({ severity }) => severity)),
  };
}

const moments = fc.oneof(fc.constantFrom(0, NOW, NOW + 1), fc.integer({ min: NOW - 95 * HOUR, max: NOW + 6 }));

test("an address is as last seen, and as bad, as the plain list says, in whichever order it was recorded", () => {
  fc.assert(
    fc.property(fc.array(recorded, { maxLength: 80 }), fc.array(moments, { minLength: 1 }), (all, times) => {
      const sightings = createSightings();
      for (const { address, severity, lastSeen } of all) sightings.record(address, severity, lastSeen);
      for (const since of times) {
        for (const { address } of all) expect(sightings.find(address, since)).toEqual(expected(all, address, since));
        expect(sightings.find(0x2d000010, since)).toBeUndefined();
      }
    }),
  );
});

test("evicting what is too old changes no answer from then on, and gives its memory back", () => {
  fc.assert(
    fc.property(fc.array(recorded, { maxLength: 80 }), moments, moments, (all, before, later) => {
      const sightings = createSightings();
      for (const { address, severity, lastSeen } of all) sightings.record(address, severity, lastSeen);
      for (const _step of sightings.evict(before)) {
        // To its end.
      }
      const since = Math.max(before, later);
      for (const { address } of all) expect(sightings.find(address, since)).toEqual(expected(all, address, since));
      for (const _step of sightings.evict(NOW + HOUR)) {
        // To its end.
      }
      expect([sightings.size(), sightings.bytes()]).toEqual([0, 0]);
    }),
  );
});

test("a million addresses take about 8 bytes each, their severity and time included", () => {
  const sightings = createSightings();
  for (let number = 0; number < 1_000_000; number++) {
    sightings.record((Math.imul(number, 2_654_435_761) >>> 8) + 0x2d000000, 3, NOW);
  }
  expect(sightings.bytes() / sightings.size()).toBeLessThan(12);
});
