import fc from "fast-check";
import { expect, test } from "vitest";
import { addressHash } from "./address-hash.ts";
import { type ActivityRows, createRowCounter, type Grid } from "./count-rows.ts";
import { BLOCK_SECONDS, blocksOf } from "./hour-blocks.ts";
import { listByBucket } from "./list-by-bucket.ts";

const HOUR = 3_600;
const HOURS_PER_BLOCK = 64;
const ORIGIN = 1_790_000_000 - (1_790_000_000 % HOUR);

const grids = fc.record({
  hours: fc.integer({ min: 1, max: 400 }),
  /** How many hours at the start have expired. */
  expired: fc.integer({ min: 0, max: 100 }),
  width: fc.oneof(fc.integer({ min: 1, max: 168 }), fc.constantFrom(1, 24)),
  offset: fc.integer({ min: 0, max: 200 }),
});
const visits = fc.array(
  fc.record({
    address: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0xffff_ffe0, max: 0xffff_ffff })),
    /** Some are before or after the window, in a block that it touches. */
    hour: fc.integer({ min: -70, max: 470 }),
  }),
  { maxLength: 300 },
);

async function countRows(rows: readonly ActivityRows[], grid: Grid, buckets: number) {
  const counter = createRowCounter(grid, buckets, 2 ** 22);
  for (const some of rows) await counter.add(some);
  return counter.fits() ? counter.counted() : undefined;
}

test("rows are counted and listed as their hours say, however many buckets there are and in whatever blocks they come", () =>
  fc.assert(
    fc.asyncProperty(grids, visits, fc.integer({ min: 1, max: 20 }), async (shape, seen, cap) => {
      const start = ORIGIN + shape.offset * HOUR;
      const [from, end] = [start + Math.min(shape.expired, shape.hours) * HOUR, start + shape.hours * HOUR];
      const grid = { start, from, end, width: shape.width * HOUR };
      const buckets = Math.ceil(shape.hours / shape.width);
      const { first, masks } = blocksOf(grid);
      const times = seen.map(({ address, hour }) => ({ address, time: start + hour * HOUR }));
      const inBlocks = times.filter(({ time }) => time >= first && time < first + masks.length * BLOCK_SECONDS);

      const rows = inBlocks.map(({ address, time }) => {
        const block = time - (time % BLOCK_SECONDS);
        const hours = new Uint32Array(
          BigUint64Array.of(1n << BigInt(((time - block) / HOUR) % HOURS_PER_BLOCK)).buffer,
        );
        return { source_ip: Uint32Array.of(address), start: Uint32Array.of(block), hours };
      });
      const expected = Array.from({ length: buckets }, () => new Set<number>());
      for (const { address, time } of inBlocks) {
        if (time >= from && time < end) expected[Math.floor((time - start) / grid.width)]?.add(address);
      }

      const counted = await countRows(rows, grid, buckets);
      if (counted === undefined) throw new Error("too many bits");
      const { bits, counts } = counted;
      expect([...counts]).toEqual(expected.map(({ size }) => size));
      const all = new Set(expected.flatMap((addresses) => [...addresses]));
      expect(new Set(bits.addresses)).toEqual(all);
      expect(bits.addresses).toHaveLength(all.size);
      const lists = await listByBucket(bits, counts, cap);
      expect(lists).toEqual(expected.map((addresses) => lowestOf(addresses, cap)));
    }),
    { numRuns: 200 },
  ));

function lowestOf(addresses: ReadonlySet<number>, cap: number): Uint32Array {
  const byHash = [...addresses].sort((one, other) => addressHash(one) - addressHash(other) || one - other);
  return Uint32Array.from(byHash.slice(0, cap)).sort();
}

test("more addresses than have room at first keep their bits", async () => {
  const many = Uint32Array.from({ length: 150_000 }, (_, index) => Math.imul(index, 0x9e3779b1) >>> 0);
  const grid = { start: 0, from: 0, end: 100 * HOUR, width: HOUR };
  const hoursOf = (numbers: Uint32Array) => {
    const hours = new Uint32Array(2 * numbers.length);
    for (const [index, number] of numbers.entries()) hours[2 * index] = 1 << (number % 32);
    return hours;
  };
  const rows = [0, BLOCK_SECONDS].map((start) => ({
    source_ip: many,
    start: new Uint32Array(many.length).fill(start),
    hours: hoursOf(many),
  }));
  const counted = await countRows(rows, grid, 100);
  const expected = Array.from({ length: 100 }, (_, hour) => many.filter((number) => hour === number % 32).length);
  for (let hour = 64; hour < 96; hour++) expected[hour] = expected[hour - 64] ?? 0;
  expect([...(counted?.counts ?? [])]).toEqual(expected);
  expect(counted?.bits.addresses).toHaveLength(many.length);
});

test("addresses that were chosen to meet in one slot of a hash table take no longer than others", async () => {
  // Multiplied with 2^32 divided by the golden ratio, as hash tables often spread numbers, they are 0, 1, 2 ...
  const chosen = Uint32Array.from({ length: 400_000 }, (_, index) => Math.imul(index, 0x0e8b2f51) >>> 0);
  const rows = {
    source_ip: chosen,
    start: new Uint32Array(chosen.length),
    hours: new Uint32Array(2 * chosen.length).fill(1),
  };
  const grid = { start: 0, from: 0, end: HOUR, width: HOUR };
  expect([...((await countRows([rows], grid, 1))?.counts ?? [])]).toEqual([chosen.length]);
  // Unscrambled they take more than a minute.
}, 20_000);

test("bits that would take too much memory are not made", async () => {
  const some = { source_ip: Uint32Array.from({ length: 70_000 }, (_, index) => index) };
  const rows = { ...some, start: new Uint32Array(70_000), hours: new Uint32Array(140_000).fill(1) };
  const grid = { start: 0, from: 0, end: 2_160 * HOUR, width: HOUR };
  expect(await countRows([rows], grid, 2_160)).toBeUndefined();
  const half = (from: number) => ({
    source_ip: rows.source_ip.subarray(from, from + 35_000),
    start: rows.start.subarray(from, from + 35_000),
    hours: rows.hours.subarray(2 * from, 2 * from + 70_000),
  });
  expect((await countRows([half(0), half(0)], grid, 2_160))?.bits.addresses).toHaveLength(35_000);
  expect(await countRows([half(0), half(35_000), half(0)], grid, 2_160)).toBeUndefined();
});
