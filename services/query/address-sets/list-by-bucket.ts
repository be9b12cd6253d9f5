import { runInChunks, yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import { addressHash } from "./address-hash.ts";
import { type BucketBits, WORD_BITS } from "./count-rows.ts";

/** Nearly all bits may be set: those of this many words take some milliseconds. */
const WORDS_PER_CHUNK = 32_000;
/** Sorting the lists of this many buckets takes some milliseconds. */
const LISTS_PER_CHUNK = 64;

/**
 * The addresses of each bucket, ascending: all of them or, where there are more than `cap`, those with the lowest hash
 * values and, where these are the same, the lowest addresses.
 * @param counts how many each bucket has.
 */
export async function listByBucket(
  { addresses, words, width }: BucketBits,
  counts: Uint32Array,
  cap: number,
): Promise<readonly Uint32Array[]> {
  // One array for all lists.
  const starts = new Uint32Array(counts.length + 1);
  for (const [bucket, count] of counts.entries()) starts[bucket + 1] = (starts[bucket] ?? 0) + Math.min(count, cap);
  const ends = starts.slice();
  const listed = new Uint32Array(starts.at(-1) ?? 0);
  let left = listed.length;

  const order = await orderByHash(addresses);
  const list = (from: number, end: number) => {
    for (let rank = from; rank < end; rank++) {
      const index = order[rank] ?? 0;
      const address = addresses[index] ?? 0;
      for (let word = 0; word < width; word++) {
        for (let bits = words[index * width + word] ?? 0; bits !== 0; bits &= bits - 1) {
          const bucket = word * WORD_BITS + WORD_BITS - 1 - Math.clz32(bits & -bits);
          const at = ends[bucket] ?? 0;
          if (at === starts[bucket + 1]) continue;
          listed[at] = address;
          ends[bucket] = at + 1;
          left--;
        }
      }
    }
    return left > 0;
  };
  await runInChunks(order.length, list, Math.ceil(WORDS_PER_CHUNK / width));

  const lists = Array.from(counts, (_, bucket) => listed.subarray(starts[bucket], starts[bucket + 1]));
  const sort = (from: number, end: number) => {
    for (const one of lists.slice(from, end)) one.sort();
  };
  await runInChunks(lists.length, sort, LISTS_PER_CHUNK);
  return lists;
}

/** The indexes of addresses, by hash value and then by address. */
async function orderByHash(addresses: Uint32Array): Promise<Uint32Array> {
  const hashes = new Uint32Array(addresses.length);
  await runInChunks(addresses.length, (from, end) => {
    for (let index = from; index < end; index++) hashes[index] = addressHash(addresses[index] ?? 0);
  });
  const order = await argsort(hashes);
  await runInChunks(order.length, (from, end) => {
    for (let rank = Math.max(1, from); rank < end; rank++) sortEqual(order, rank, hashes, addresses);
  });
  return order;
}

/** Moves the index at a rank before those of higher addresses with the same hash value. */
function sortEqual(order: Uint32Array, rank: number, hashes: Uint32Array, addresses: Uint32Array): void {
  for (let at = rank; at > 0; at--) {
    const [before = 0, index = 0] = [order[at - 1], order[at]];
    if (hashes[before] !== hashes[index] || (addresses[before] ?? 0) < (addresses[index] ?? 0)) return;
    order[at - 1] = index;
    order[at] = before;
  }
}

const HALF_BITS = 16;
const HALF = 2 ** HALF_BITS;

/** The indexes of numbers in ascending order of these; of those that are the same, as they come. */
async function argsort(numbers: Uint32Array): Promise<Uint32Array> {
  await yieldToEventLoop();
  const byLower = sortByHalf(
    numbers,
    0,
    new Uint32Array(numbers.length).map((_, index) => index),
  );
  await yieldToEventLoop();
  const sorted = sortByHalf(numbers, HALF_BITS, byLower);
  await yieldToEventLoop();
  return sorted;
}

/** Sorts indexes by half of the bits of their numbers, from a bit on: one pass counts, and one moves. Stable. */
function sortByHalf(numbers: Uint32Array, lowestBit: number, order: Uint32Array): Uint32Array {
  const starts = new Uint32Array(HALF + 1);
  for (let index = 0; index < numbers.length; index++) {
    const next = (((numbers[index] ?? 0) >>> lowestBit) & (HALF - 1)) + 1;
    starts[next] = (starts[next] ?? 0) + 1;
  }
  for (let half = 1; half < starts.length; half++) starts[half] = (starts[half] ?? 0) + (starts[half - 1] ?? 0);
  const sorted = new Uint32Array(numbers.length);
  for (let rank = 0; rank < order.length; rank++) {
    const index = order[rank] ?? 0;
    const half = ((numbers[index] ?? 0) >>> lowestBit) & (HALF - 1);
    const start = starts[half] ?? 0;
    sorted[start] = index;
    starts[half] = start + 1;
  }
  return sorted;
}
