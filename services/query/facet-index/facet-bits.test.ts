import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { runInSteps } from "@noisefloor/domain/time/yield.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { facet } from "../conditions/address-set.ts";
import { ordinalsFrom } from "./bits.ts";
import { countParts, countValues } from "./count-values.ts";
import { Dictionary } from "./dictionary.ts";
import { Facet } from "./facet.ts";
import { FacetBits } from "./facet-bits.ts";
import { type MembersOfValue, packOrdinal, splitTime, toSegment } from "./segment.ts";

type Sighting = { readonly value: string; readonly ordinal: number; readonly time: number };

const VALUES = ["", "a", "b", "bé", "c", "z-1", "😀"];
const ADDRESSES = 70;
/** Beyond 2^32 milliseconds, and around it. */
const START = 2 ** 32 - 2 * HOUR_MS;
const byBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));

function segmentOf(sightings: readonly Sighting[], numberOf: (value: string) => number) {
  const latest = new Map<string, Sighting>();
  for (const one of sightings) {
    const key = `${one.value} ${one.ordinal}`;
    if ((latest.get(key)?.time ?? -1) < one.time) latest.set(key, one);
  }
  const members = [...latest.values()];
  const words = { ordinals: new Uint32Array(members.length), times: new Uint32Array(members.length) };
  const groups: MembersOfValue[] = [];
  let at = 0;
  for (const value of new Set(members.map((one) => one.value))) {
    const start = at;
    for (const { ordinal, time } of members.filter((one) => one.value === value)) {
      const { upper, lower } = splitTime(time);
      words.ordinals[at] = packOrdinal(ordinal, upper);
      words.times[at++] = lower;
    }
    groups.push({ value: numberOf(value), start, end: at });
  }
  return toSegment(groups, words);
}

/** A field that was loaded with some sightings, to which others were added, some at a time. */
async function facetOf([loaded = [], ...added]: readonly (readonly Sighting[])[]) {
  const values = [...new Set(loaded.map(({ value }) => value))].sort(byBytes).map((value) => Buffer.from(value));
  let end = 0;
  const dictionary = new Dictionary(
    Buffer.concat(values),
    Uint32Array.from(values, ({ length }) => (end += length)),
  );
  const made = new Facet(
    dictionary,
    segmentOf(loaded, (value) => dictionary.add(value)),
  );
  for (const some of added) {
    made.add(segmentOf(some, (value) => dictionary.add(value)));
    await made.mergeLayers();
  }
  return made;
}

const sighting = fc.record({
  value: fc.constantFrom(...VALUES),
  ordinal: fc.nat(ADDRESSES - 1),
  time: fc.nat(5 * HOUR_MS).map((ms) => START + ms),
});
const batches = fc.array(fc.array(sighting, { maxLength: 60 }), { minLength: 1, maxLength: 8 });
/** On the hour, a millisecond beside it, and anywhere. */
const since = fc.oneof(
  fc
    .tuple(fc.nat(6), fc.integer({ min: -1, max: 1 }))
    .map(([hours, ms]) => Math.ceil(START / HOUR_MS + hours) * HOUR_MS + ms),
  fc.nat(6 * HOUR_MS).map((ms) => START + ms),
);

test("a set has the addresses whose latest sighting is not before a time, in whatever order and batches they came", () =>
  fc.assert(
    fc.asyncProperty(batches, fc.array(since, { minLength: 1, maxLength: 4 }), async (all, times) => {
      const kept = new FacetBits(2 ** 20, 0);
      const direct = new FacetBits(2 ** 20);
      const set = facet("path", { type: "in", texts: ["b", "bé", "z-1", "none"] });
      if (set.type !== "set" || set.set.type !== "facet") throw new Error("no set");
      const made = await facetOf(all.slice(0, 1));
      for (const [index, batch] of all.entries()) {
        if (index > 0) made.add(segmentOf(batch, (value) => made.dictionary.add(value)));
        for (const time of times) {
          const expected = all
            .slice(0, index + 1)
            .flat()
            .filter((one) => ["b", "bé", "z-1"].includes(one.value) && one.time >= time)
            .map(({ ordinal }) => ordinal);
          for (const bits of [kept, direct]) {
            const into = new Uint32Array(Math.ceil(ADDRESSES / 32));
            const at = { time, hour: Math.ceil(time / HOUR_MS) * HOUR_MS };
            await runInSteps(
              bits.mark(set.set, [{ name: "path", facet: made }], at, { into, ordinals: () => ADDRESSES }),
            );
            expect([...ordinalsFrom(into, 0)]).toEqual([...new Set(expected)].sort((a, b) => a - b));
          }
        }
        await made.mergeLayers();
      }
    }),
    { numRuns: 60 },
  ));

test("each address counts once under each value, and each part of one, that it has since a time", () =>
  fc.assert(
    fc.asyncProperty(
      batches,
      since,
      fc.uniqueArray(fc.nat(ADDRESSES - 1)),
      fc.integer({ min: 1, max: 9 }),
      async (all, time, some, limit) => {
        const made = await facetOf(all);
        const bits = new Uint32Array(Math.ceil(ADDRESSES / 32));
        for (const ordinal of some) bits[ordinal >>> 5] = (bits[ordinal >>> 5] ?? 0) | (1 << ordinal);
        const counting = { bits, since: splitTime(time), limit };
        const alive = all.flat().filter((one) => one.time >= time && some.includes(one.ordinal));
        const expected = (textOf: (value: string) => string) => {
          const membersOf = (text: string) => alive.filter(({ value }) => textOf(value) === text);
          return [...new Set(alive.map(({ value }) => textOf(value)))]
            .map((value) => ({ value, count: new Set(membersOf(value).map(({ ordinal }) => ordinal)).size }))
            .sort((one, other) => other.count - one.count || byBytes(one.value, other.value));
        };
        expect(await runInSteps(countValues(made, counting))).toEqual(expected((value) => value).slice(0, limit));
        const part = (value: string) => value.slice(0, 1);
        const parts = expected(part).filter(({ value }) => value !== "");
        expect(await runInSteps(countParts(made, part, counting))).toEqual(parts.slice(0, limit));
      },
    ),
    { numRuns: 100 },
  ));
