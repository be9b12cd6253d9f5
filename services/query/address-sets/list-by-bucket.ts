import { ownTurn } from "@noisefloor/domain/time/own-turn.ts";
import { addressHash } from "./address-hash.ts";
import { addressesPerTurn, type BucketBits, countByBucket, WORD_BITS } from "./bucket-bits.ts";
import { HIGHEST_HASH, thresholdFor } from "./hash-threshold.ts";
import { pick, placesByHalf } from "./radix-argsort.ts";
import { inTurns } from "./turns.ts";

/**
 * The addresses of each bucket, ascending: all of them or, where there are more than `cap`, those with the lowest hash
 * values and, where these are the same, the lowest addresses.
 * @param counts how many each bucket has.
 */
export async function listByBucket(
  bits: BucketBits,
  counts: Uint32Array,
  cap: number,
): Promise<readonly Uint32Array[]> {
  const highest = counts.reduce((most, count) => Math.max(most, count === 0 ? 0 : thresholdFor(cap, count)), 0);
  const lists = await listUpTo(highest, bits, counts, cap);
  const areComplete = lists.every((list, bucket) => list.length === Math.min(cap, counts[bucket] ?? 0));
  return areComplete ? lists : listUpTo(HIGHEST_HASH, bits, counts, cap);
}

/** The same of the addresses whose hash values are not higher. */
async function listUpTo(
  highest: number,
  bits: BucketBits,
  counts: Uint32Array,
  cap: number,
): Promise<readonly Uint32Array[]> {
  // Sorted once for all buckets: what a bucket lists of them is then sorted, too.
  const found = await sortUpTo(highest, bits.addresses);
  const { addresses, words, width } = bits;
  const { places } = found;
  const areAll = places.length === addresses.length;
  const has = areAll ? counts : await countByBucket(bits, counts.length, places);
  const { ranks, firstLeftOut, lastCut, uncut } = await cutAt(cap, bits, found, has);

  // One array for all lists: to find the array of each bucket first takes half as long again.
  const starts = new Uint32Array(counts.length + 1);
  for (const [bucket, count] of counts.entries()) starts[bucket + 1] = (starts[bucket] ?? 0) + Math.min(count, cap);
  const ends = starts.slice(0, -1);
  const listed = new Uint32Array(starts.at(-1) ?? 0);
  const list = (from: number, end: number) => {
    for (let index = from; index < end; index++) {
      const place = places[index] ?? 0;
      const address = addresses[place] ?? 0;
      const rank = ranks[index] ?? 0;
      for (let word = 0; word < width; word++) {
        let left = words[place * width + word] ?? 0;
        if (rank >= lastCut) left &= uncut[word] ?? 0;
        for (; left !== 0; left &= left - 1) {
          const bucket = word * WORD_BITS + WORD_BITS - 1 - Math.clz32(left & -left);
          if (rank >= (firstLeftOut[bucket] ?? 0)) continue;
          const at = ends[bucket] ?? 0;
          listed[at] = address;
          ends[bucket] = at + 1;
        }
      }
    }
  };
  await inTurns(places.length, list, addressesPerTurn(bits));
  return Array.from(ends, (end, bucket) => listed.subarray(starts[bucket], end));
}

/** Places of addresses, in the order of the addresses, and the hash value of each. */
type Sorted = { readonly places: Uint32Array; readonly hashes: Uint32Array };

/** Those with hash values that are not higher. */
async function sortUpTo(highest: number, addresses: Uint32Array): Promise<Sorted> {
  const found = { places: new Uint32Array(addresses.length), hashes: new Uint32Array(addresses.length) };
  let length = 0;
  await inTurns(addresses.length, (from, end) => {
    for (let place = from; place < end; place++) {
      const hash = addressHash(addresses[place] ?? 0);
      if (hash > highest) continue;
      found.places[length] = place;
      found.hashes[length++] = hash;
    }
  });
  const order = await orderOf(pick(addresses, found.places.subarray(0, length)));
  return { places: pick(found.places, order), hashes: pick(found.hashes, order) };
}

type Cut = {
  /** Of each address, by its hash value. */
  readonly ranks: Uint32Array;
  /** For each bucket; beyond all ranks where it leaves out none. */
  readonly firstLeftOut: Uint32Array;
  /** From this rank on, all buckets that leave out any do so. The others, as bits. */
  readonly lastCut: number;
  readonly uncut: Uint32Array;
};

/** @param counts how many of the addresses in these places each bucket has; it keeps `cap` of them. */
async function cutAt(
  cap: number,
  { words, width }: BucketBits,
  { places, hashes }: Sorted,
  counts: Uint32Array,
): Promise<Cut> {
  const ranks = new Uint32Array(hashes.length);
  const firstLeftOut = new Uint32Array(counts.length).fill(hashes.length);
  const uncut = new Uint32Array(width);
  let [bucketsLeft, leftOut] = [0, 0];
  for (const [bucket, count] of counts.entries()) {
    if (count > cap) {
      bucketsLeft++;
      leftOut += count - cap;
    } else {
      uncut[bucket >>> 5] = (uncut[bucket >>> 5] ?? 0) | (1 << bucket);
    }
  }
  if (bucketsLeft === 0) return { ranks, firstLeftOut, lastCut: hashes.length, uncut };
  // From the side on which fewer addresses are.
  const isUpward = leftOut > bucketsLeft * cap;
  const left = counts.map((count) => (count <= cap ? 0 : isUpward ? cap : count - cap));

  const order = await orderOf(hashes);
  for (let rank = 0; rank < order.length; rank++) ranks[order[rank] ?? 0] = rank;
  const find = (from: number, end: number) => {
    for (let step = from; step < end; step++) {
      const rank = isUpward ? step : order.length - 1 - step;
      const place = places[order[rank] ?? 0] ?? 0;
      for (let word = 0; word < width; word++) {
        for (let bits = words[place * width + word] ?? 0; bits !== 0; bits &= bits - 1) {
          const bucket = word * WORD_BITS + WORD_BITS - 1 - Math.clz32(bits & -bits);
          const before = left[bucket] ?? 0;
          if (before === 0) continue;
          left[bucket] = before - 1;
          firstLeftOut[bucket] = isUpward ? rank + 1 : rank;
          if (before === 1) bucketsLeft--;
        }
      }
    }
    return bucketsLeft > 0;
  };
  await inTurns(order.length, find, addressesPerTurn({ width }));
  let lastCut = 0;
  for (const [bucket, first] of firstLeftOut.entries()) {
    if ((counts[bucket] ?? 0) > cap && first > lastCut) lastCut = first;
  }
  return { ranks, firstLeftOut, lastCut, uncut };
}

/** The places of numbers in the order of these; of those that are the same, as they come. */
async function orderOf(numbers: Uint32Array): Promise<Uint32Array> {
  await ownTurn();
  const byLower = placesByHalf(numbers, "lower");
  await ownTurn();
  const order = placesByHalf(numbers, "upper", byLower);
  await ownTurn();
  return order;
}
