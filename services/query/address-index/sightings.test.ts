import fc from "fast-check";
import { expect, test } from "vitest";
import { createSightings, type Sighting } from "./sightings.ts";

type Recorded = { readonly address: number; readonly severity: number; readonly lastSeen: number };

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 20);

/** Few addresses, so that they repeat, in one block of a page, in several, and on several pages. */
const recorded: fc.Arbitrary<Recorded> = fc.record({
  address: fc.oneof(
    fc.integer({ min: 0x2d000000, max: 0x2d00000f }),
    fc.constantFrom(0, 0xffff, 0x10000, 0x2d00ffff, 0x2d010000, 0x2d07ffff, 0x2d080000, 0xffff_0000, 0xffff_ffff),
  ),
  severity: fc.integer({ min: 0, max: 4 }),
  lastSeen: fc.oneof(fc.integer({ min: NOW - 5, max: NOW + 5 }), fc.integer({ min: NOW - 90 * HOUR, max: NOW })),
});

/** The oracle: computed from the plain list. */
function expected(all: readonly Recorded[], address: number, since: number): Sighting | undefined {
  const seen = all.filter((entry) => entry.address === address && entry.lastSeen >= since);
  if (seen.length === 0) return undefined;
  return {
    lastSeen: Math.max(...seen.map(({ lastSeen }) => lastSeen)),
    severity: Math.max(...seen.map(({ severity }) => severity)),
  };
}

const times = fc.oneof(fc.constantFrom(0, NOW, NOW + 1), fc.integer({ min: NOW - 95 * HOUR, max: NOW + 6 }));

test("last sighting and severity of an address are those of the plain list, in any order of recording", () => {
  fc.assert(
    fc.property(fc.array(recorded, { maxLength: 80 }), fc.array(times, { minLength: 1 }), (all, starts) => {
      const sightings = createSightings();
      for (const { address, severity, lastSeen } of all) sightings.record(address, severity, lastSeen);
      for (const since of starts) {
        for (const { address } of all) {
          const sighting = expected(all, address, since);
          expect(sightings.find(address, since)).toEqual(sighting);
        }
        const asked = Uint32Array.from([...all.map(({ address }) => address), 0x2d000010]);
        for (const addresses of [asked, asked.toSorted()]) {
          expect([...sightings.severitiesOf(addresses, since)]).toEqual(
            Array.from(addresses, (address) => expected(all, address, since)?.severity ?? 0),
          );
        }
        expect(sightings.find(0x2d000010, since)).toBeUndefined();
      }
    }),
    { numRuns: 40 },
  );
});

test("a visit meets each address seen since a time once, with its worst severity since an earlier one", () => {
  fc.assert(
    fc.property(fc.array(recorded, { maxLength: 80 }), times, times, (all, one, other) => {
      const sightings = createSightings();
      for (const { address, severity, lastSeen } of all) sightings.record(address, severity, lastSeen);
      const [since, from] = [Math.min(one, other), Math.max(one, other)];
      const met: [number, number][] = [];
      for (const _step of sightings.visit({ from, since }, (address, severity) => met.push([address, severity]))) {
        // To its end.
      }
      const addresses = [...new Set(all.filter(({ lastSeen }) => lastSeen >= from).map(({ address }) => address))];
      const wanted = addresses.map((address) => [address, expected(all, address, since)?.severity]);
      expect(new Map(met)).toEqual(new Map(wanted.map(([address, severity]) => [address, severity])));
      expect(met).toHaveLength(addresses.length);
    }),
    { numRuns: 40 },
  );
});

test("evicting old entries changes no later result, they can be recorded again, and their memory is freed", () => {
  fc.assert(
    fc.property(fc.array(recorded, { maxLength: 80 }), times, times, (all, before, later) => {
      const sightings = createSightings();
      for (const { address, severity, lastSeen } of all) sightings.record(address, severity, lastSeen);
      for (const _step of sightings.evict(before)) {
        // To its end.
      }
      const since = Math.max(before, later);
      for (const { address } of all) expect(sightings.find(address, since)).toEqual(expected(all, address, since));
      for (const { address, severity, lastSeen } of all) sightings.record(address, severity, lastSeen);
      for (const { address } of all) expect(sightings.find(address, later)).toEqual(expected(all, address, later));
      for (const _step of sightings.evict(NOW + HOUR)) {
        // To its end.
      }
      expect([sightings.size(), sightings.bytes()]).toEqual([0, 0]);
    }),
    { numRuns: 40 },
  );
});

test("a million addresses take about 8 bytes each, their severity and time included", () => {
  const sightings = createSightings();
  for (let number = 0; number < 1_000_000; number++) {
    sightings.record((Math.imul(number, 2_654_435_761) >>> 8) + 0x2d000000, 3, NOW);
  }
  expect(sightings.bytes() / sightings.size()).toBeLessThan(12);
});
