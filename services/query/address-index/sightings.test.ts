import { ATTACK, ATTACKED } from "@noisefloor/domain/tags/attack.ts";
import { CONTACT } from "@noisefloor/domain/tags/contact.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { unscramble } from "./scramble.ts";
import type { Sighting } from "./sighting-table.ts";
import { createSightings } from "./sightings.ts";

type Recorded = { readonly address: number; readonly severity: number; readonly lastSeen: number };

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 20);

/** So few that they repeat; most have the last keys of a page, so that their entries go on in its first slots. */
const fewAddresses = fc
  .oneof(
    fc.integer({ min: 2 ** 18 - 16, max: 2 ** 18 - 1 }),
    fc.constantFrom(0, 1, 2 ** 18, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff),
  )
  .map(unscramble);
/** Where it would stand are the entries of others. */
const unknown = unscramble(2 ** 18 - 17);
const recorded: fc.Arbitrary<Recorded> = fc.record({
  address: fewAddresses,
  severity: fc.constantFrom(0, 1, 2, 3, 4, CONTACT, ATTACK),
  lastSeen: fc.oneof(fc.integer({ min: NOW - 5, max: NOW + 5 }), fc.integer({ min: NOW - 90 * HOUR, max: NOW })),
});

/** The oracle: computed from the plain list. */
function expected(all: readonly Recorded[], address: number, since: number): Sighting | undefined {
  const seen = all.filter((entry) => entry.address === address && entry.lastSeen >= since);
  if (seen.length === 0) return undefined;
  return {
    lastSeen: Math.max(...seen.map(({ lastSeen }) => lastSeen)),
    severity: Math.max(0, ...seen.map(({ severity }) => (severity >= CONTACT ? 0 : severity))),
    isInContact: seen.some(({ severity }) => severity >= CONTACT),
    hasAttacked: seen.some(({ severity }) => severity === ATTACK),
  };
}

/** As severities that are numbers alone. */
const numberOf = (sighting: Sighting | undefined) =>
  (sighting?.severity ?? 0) | (sighting?.hasAttacked === true ? ATTACKED : 0);

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
        const asked = Uint32Array.from([...all.map(({ address }) => address), unknown]);
        expect([...sightings.severitiesOf(asked, since)]).toEqual(
          Array.from(asked, (address) => numberOf(expected(all, address, since))),
        );
        expect(sightings.find(unknown, since)).toBeUndefined();
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
      const wanted = addresses.map((address) => [address, numberOf(expected(all, address, since))]);
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

test("of very many addresses each is found, also after the tables have grown and after an eviction", () => {
  const sightings = createSightings();
  const times = new Map<number, number[]>();
  const sightingOf = (address: number, since: number): Sighting | undefined => {
    const seen = [...(times.get(address) ?? []).entries()].filter(([, time]) => time >= since);
    if (seen.length === 0) return undefined;
    const [lastSeen, severity] = [Math.max(...seen.map(([, time]) => time)), Math.max(...seen.map(([index]) => index))];
    return { lastSeen, severity, isInContact: false, hasAttacked: false };
  };
  let random = 7;
  const next = (below: number) => {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((random / 2 ** 32) * below);
  };
  for (let count = 0; count < 50_000; count++) {
    // Half of them are neighbours.
    const address = count % 2 === 0 ? next(2 ** 32) : 0x2d000000 + next(100_000);
    const severity = next(5);
    const lastSeen = NOW - next(90 * HOUR);
    sightings.record(address, severity, lastSeen);
    const recorded = times.get(address) ?? Array.from({ length: 5 }, () => Number.NEGATIVE_INFINITY);
    recorded[severity] = Math.max(recorded[severity] ?? 0, lastSeen);
    times.set(address, recorded);
  }
  const addresses = Uint32Array.from(times.keys());
  const expectAll = (since: number) => {
    const severities = sightings.severitiesOf(addresses, since);
    const isWrong = (address: number, place: number) => {
      const wanted = sightingOf(address, since);
      const found = sightings.find(address, since);
      return (
        found?.lastSeen !== wanted?.lastSeen ||
        found?.severity !== wanted?.severity ||
        severities[place] !== (wanted?.severity ?? 0)
      );
    };
    expect(addresses.find(isWrong)).toBeUndefined();
  };
  expectAll(NOW - 90 * HOUR);
  expectAll(NOW - 30 * HOUR);
  const before = sightings.size();
  for (const _step of sightings.evict(NOW - 20 * HOUR)) {
    // To its end.
  }
  expect(sightings.size()).toBeLessThan(before / 2);
  expectAll(NOW - 20 * HOUR);
  const met: number[] = [];
  for (const _step of sightings.visit({ from: NOW - 20 * HOUR, since: 0 }, (address) => met.push(address))) {
    // To its end.
  }
  const remaining = addresses.filter((address) => sightingOf(address, NOW - 20 * HOUR) !== undefined);
  expect(Buffer.from(Uint32Array.from(met).sort().buffer).equals(Buffer.from(remaining.sort().buffer))).toBe(true);
});

test("a million addresses take about 13 bytes each, their severity and time included", () => {
  const sightings = createSightings();
  for (let number = 0; number < 1_000_000; number++) {
    sightings.record((Math.imul(number, 2_654_435_761) >>> 8) + 0x2d000000, 3, NOW);
  }
  expect(sightings.bytes() / sightings.size()).toBeLessThan(15);
});
