import fc from "fast-check";
import { expect, test } from "vitest";
import { addressHash } from "./address-hash.ts";
import { argsort, listByBucket } from "./list-by-bucket.ts";

const number = fc.oneof(
  fc.constantFrom(0, 0xffff, 0x10000, 0xffff_0000, 0xffff_ffff),
  fc.integer({ min: 0, max: 0xffff_ffff }),
);

test("the indexes are in the order of their numbers, and those of the same number ascend", () =>
  fc.assert(
    fc.asyncProperty(fc.array(number), async (all) => {
      const given = Uint32Array.from(all);
      const expected = [...given.keys()].sort((one, other) => (given[one] ?? 0) - (given[other] ?? 0) || one - other);
      expect([...(await argsort(given))]).toEqual(expected);
    }),
  ));

function lowestOf(addresses: ReadonlySet<number>, cap: number): Uint32Array {
  const byHash = [...addresses].sort((one, other) => addressHash(one) - addressHash(other) || one - other);
  return Uint32Array.from(byHash.slice(0, cap)).sort();
}

test("a sample is complete where nearly all addresses of a bucket have high hash values", async () => {
  const addresses = Uint32Array.from({ length: 40_000 }, (_, index) => index).filter(
    (address) => addressHash(address) > 0xf000_0000,
  );
  const bits = { addresses, words: new Uint32Array(addresses.length).fill(1), width: 1 };
  const [list] = await listByBucket(bits, Uint32Array.of(addresses.length), 1_000);
  expect(list).toEqual(lowestOf(new Set(addresses), 1_000));
});

test.each([
  ["few addresses are left out", 1_300, 500],
  ["nearly all addresses are left out", 60_000, 40],
])("samples of many buckets are the lowest of each when %s", async (_, inLarge, buckets) => {
  const cap = 1_000;
  const width = Math.ceil(buckets / 32);
  const addresses = Uint32Array.from({ length: inLarge }, (_, index) => Math.imul(index, 0x9e3779b1) >>> 0);
  const words = new Uint32Array(addresses.length * width);
  const expected = Array.from({ length: buckets }, () => new Set<number>());
  for (const [index, address] of addresses.entries()) {
    for (let bucket = 0; bucket < buckets; bucket++) {
      // Every fifth bucket has one address of a hundred, the others have ten of eleven.
      const isIn = bucket % 5 === 0 ? (index + bucket) % 100 === 0 : (index + bucket) % 11 !== 0;
      if (!isIn) continue;
      const at = index * width + (bucket >>> 5);
      words[at] = (words[at] ?? 0) | (1 << bucket);
      expected[bucket]?.add(address);
    }
  }
  const counts = Uint32Array.from(expected, ({ size }) => size);
  const lists = await listByBucket({ addresses, words, width }, counts, cap);
  for (const [bucket, list] of lists.entries()) expect(list).toEqual(lowestOf(expected[bucket] ?? new Set(), cap));
});

test("others have their turn while the addresses of many buckets are listed", async () => {
  const [buckets, width] = [2_160, 68];
  const addresses = Uint32Array.from({ length: 10_000 }, (_, index) => Math.imul(index, 0x9e3779b1) >>> 0);
  const bits = { addresses, words: new Uint32Array(addresses.length * width).fill(1), width };
  const turnsOf = async (work: () => Promise<unknown>) => {
    let turns = 0;
    let pending = setImmediate(function count() {
      turns++;
      pending = setImmediate(count);
    });
    await work();
    clearImmediate(pending);
    return turns;
  };
  const counts = new Uint32Array(buckets);
  for (let word = 0; word < width; word++) counts[word * 32] = addresses.length;
  // One for about 470 addresses.
  expect(await turnsOf(() => listByBucket(bits, counts, 20_000))).toBeGreaterThan(30);
});

test("of two addresses with the same hash value, the lower one is listed", async () => {
  const addresses = Uint32Array.of(27_463, 27_456);
  expect(addressHash(27_463)).toBe(addressHash(27_456));
  const bits = { addresses, words: Uint32Array.of(1, 1), width: 1 };
  expect(await listByBucket(bits, Uint32Array.of(2), 1)).toEqual([Uint32Array.of(27_456)]);
});
