import { ArrayColumn } from "@noisefloor/clickhouse/client/native.ts";
import type { Window } from "@noisefloor/domain/time/window.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { addressHash } from "../address-hash.ts";
import { HIGHEST_HASH } from "../hash-threshold.ts";
import { listSamples } from "./list-samples.ts";
import { planSamples } from "./plan-samples.ts";
import type { SampleRows, SampleSizes } from "./queries.ts";

const HOUR = 3_600;
const START = 1_790_000_000 - (1_790_000_000 % HOUR);
/** Where the hash values of rows begin. */
const BANDS = [0, 2 ** 28, 2 ** 29, 2 ** 30, 2 ** 31];

/** A row of `tag_samples`, as one insert made it or a merge of several. */
type Row = { readonly hour: number; readonly hashFrom: number; readonly addresses: readonly number[] };

const bandOf = (address: number) => BANDS.findLast((from) => from <= addressHash(address)) ?? 0;

/** The rows of one insert. */
function rowsOf(seen: readonly { address: number; hour: number }[]): Row[] {
  const rows = new Map<string, Row & { addresses: number[] }>();
  for (const { address, hour } of seen) {
    const hashFrom = bandOf(address);
    const row = rows.get(`${hour} ${hashFrom}`) ?? { hour, hashFrom, addresses: [] };
    if (!row.addresses.includes(address)) row.addresses.push(address);
    rows.set(`${hour} ${hashFrom}`, row);
  }
  return [...rows.values()];
}

/** As the store answers with rows, so many in a block. */
function blocksOf(rows: readonly Row[], rowsPerBlock: number): SampleRows[] {
  const blocks: SampleRows[] = [];
  for (let first = 0; first < rows.length; first += rowsPerBlock) {
    const some = rows.slice(first, first + rowsPerBlock);
    let end = 0;
    const ends = some.map(({ addresses }) => (end += addresses.length));
    blocks.push({
      hash_from: Uint32Array.from(some, ({ hashFrom }) => hashFrom),
      hour: Uint32Array.from(some, ({ hour }) => START + hour * HOUR),
      addresses: new ArrayColumn(Uint32Array.from(ends), Uint32Array.from(some.flatMap(({ addresses }) => addresses))),
    });
  }
  return blocks;
}

/** As the store says how many addresses they have. */
function sizesOf(rows: readonly Row[], width: number): SampleSizes[] {
  const sizes = new Map<string, number[]>();
  for (const { hour, hashFrom, addresses } of rows) {
    const key = `${Math.floor(hour / width)} ${hashFrom}`;
    sizes.set(key, [...(sizes.get(key) ?? []), addresses.length]);
  }
  const column = (numberOf: (key: readonly number[], sizes: readonly number[]) => number) =>
    Uint32Array.from([...sizes].map(([key, some]) => numberOf(key.split(" ").map(Number), some)));
  return [
    {
      bucket: column(([bucket]) => bucket ?? 0),
      hash_from: column(([, hashFrom]) => hashFrom ?? 0),
      largest: column((_, some) => Math.max(...some)),
      together: column((_, some) => some.reduce((sum, size) => sum + size, 0)),
    },
  ];
}

function lowestOf(addresses: ReadonlySet<number>, cap: number): Uint32Array {
  const byHash = [...addresses].sort((one, other) => addressHash(one) - addressHash(other) || one - other);
  return Uint32Array.from(byHash.slice(0, cap)).sort();
}

const windowsOf = (buckets: number): Window[] =>
  Array.from({ length: buckets }, (_, bucket) => ({ start: bucket, end: bucket + 1 }));

const HOURS = 12;
const inserts = fc.array(fc.array(fc.record({ address: fc.nat(400), hour: fc.nat(HOURS - 1) }), { maxLength: 200 }), {
  minLength: 1,
  maxLength: 4,
});

test("of rows up to its threshold, the list of a bucket is that of all its addresses, and its plan counts no others", () => {
  fc.assert(
    fc.property(
      inserts,
      fc.integer({ min: 1, max: HOURS }),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 9 }),
      (seen, width, cap, rowsPerBlock) => {
        const buckets = Math.ceil(HOURS / width);
        const rows = seen.flatMap(rowsOf);
        const expected = Array.from({ length: buckets }, () => new Set<number>());
        for (const { address, hour } of seen.flat()) expected[Math.floor(hour / width)]?.add(address);

        const plans = planSamples(sizesOf(rows, width), windowsOf(buckets), cap);
        for (const [bucket, { count }] of plans.entries()) expect([undefined, expected[bucket]?.size]).toContain(count);
        const thresholdOf = (hour: number) => plans[Math.floor(hour / width)]?.threshold ?? 0;
        const read = rows.filter(({ hour, hashFrom }) => hashFrom <= thresholdOf(hour));
        const candidates = plans.map((_, bucket) =>
          read
            .filter(({ hour }) => Math.floor(hour / width) === bucket)
            .reduce((sum, { addresses }) => sum + addresses.length, 0),
        );
        expect(plans.map((plan) => plan.candidates)).toEqual(candidates);

        const grid = { start: START, width: width * HOUR };
        const enough = plans.map((_, bucket) => (bucket % 2 === 0 ? Infinity : cap));
        const lists = [...listSamples(blocksOf(read, rowsPerBlock), grid, enough, cap)];
        expect(lists.map(({ ips }) => ips)).toEqual(expected.map((addresses) => lowestOf(addresses, cap)));
        for (const [bucket, { found }] of lists.entries()) {
          const threshold = plans[bucket]?.threshold ?? 0;
          const upTo = [...(expected[bucket] ?? [])].filter((address) => bandOf(address) <= threshold);
          if (bucket % 2 === 0) expect(found).toBe(upTo.length);
          else expect(found).toSatisfy((number) => number >= Math.min(cap, upTo.length) && number <= upTo.length);
          if (threshold < HIGHEST_HASH) expect(found).toBeGreaterThanOrEqual(cap);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test("one insert of an hour counts it; of the same hour in two, neither does", () => {
  const hour = [1, 2, 3, 4].map((address) => ({ address, hour: 0 }));
  const once = rowsOf(hour);
  const countOf = (rows: readonly Row[]) => planSamples(sizesOf(rows, 1), windowsOf(1), 100)[0]?.count;
  expect(countOf(once)).toBe(4);
  expect(countOf([...once, ...rowsOf(hour)])).toBeUndefined();
  expect(countOf([])).toBe(0);
});

test("addresses with the same hash value are listed in their order", () => {
  const byHash = new Map<number, number>();
  let pair: [number, number] | undefined;
  for (let address = 0; pair === undefined; address++) {
    const hash = addressHash(address);
    const other = byHash.get(hash);
    if (other !== undefined) pair = [other, address];
    byHash.set(hash, address);
  }
  const [first, second] = pair;
  const hashFrom = bandOf(first);
  const row = { hour: 0, hashFrom, addresses: [second, first] };
  const listOf = (rows: readonly Row[], cap: number) =>
    listSamples(blocksOf(rows, 1), { start: START, width: HOUR }, [Infinity], cap).next().value;
  expect(listOf([row], 1)).toEqual({ found: 2, ips: Uint32Array.of(first) });
  const lower = { hour: 0, hashFrom: hashFrom - 1, addresses: [7] };
  expect(listOf([row, lower], 2), "after those of a lower band").toEqual({
    found: 3,
    ips: Uint32Array.of(7, first).sort(),
  });
});

test("large buckets are read in part, small ones whole", () => {
  const addresses = Array.from({ length: 12_000 }, (_, place) => Math.imul(place, 0x9e3779b1) >>> 0);
  const seen = addresses.flatMap((address, place) => [
    { address, hour: 0 },
    ...(place % 120 === 0 ? [{ address, hour: 1 }] : []),
  ]);
  const [large, small] = planSamples(sizesOf(rowsOf(seen), 1), windowsOf(2), 1_000);
  expect(small).toMatchObject({ threshold: HIGHEST_HASH, candidates: 100, count: 100 });
  expect(large).toMatchObject({ threshold: 2 ** 29 - 1, count: 12_000 });
  expect(large?.candidates).toBeGreaterThanOrEqual(1_000);
  expect(large?.candidates).toBeLessThan(2_200);
});
