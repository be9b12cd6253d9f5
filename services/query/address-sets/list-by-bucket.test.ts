import { expect, test } from "vitest";
import { addressHash } from "./address-hash.ts";
import { listByBucket } from "./list-by-bucket.ts";

function lowestOf(addresses: ReadonlySet<number>, cap: number): Uint32Array {
  const byHash = [...addresses].sort((one, other) => addressHash(one) - addressHash(other) || one - other);
  return Uint32Array.from(byHash.slice(0, cap)).sort();
}

test.each([
  ["few addresses are left out", 1_300, 100],
  ["nearly all addresses are left out", 15_000, 10],
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
