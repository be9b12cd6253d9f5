import { ownTurn } from "@noisefloor/domain/time/own-turn.ts";
import { addressHash } from "./address-hash.ts";
import { type BucketBits, WORD_BITS } from "./bucket-bits.ts";
import { HIGHEST_HASH, thresholdFor } from "./hash-threshold.ts";
import { placesByHalf } from "./places-by-half.ts";
import { inTurns } from "./turns.ts";

/**
 * The addresses of each bucket, in no particular order: all of them or, where there are more than `cap`, those with the
 * lowest hash values and, where these are the same, the lowest addresses.
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
  { addresses, words, width }: BucketBits,
  counts: Uint32Array,
  cap: number,
): Promise<readonly Uint32Array[]> {
  // One array for all lists: to find the array of each bucket first takes half as long again.
  const ends = new Uint32Array(counts.length);
  let total = 0;
  for (const [bucket, count] of counts.entries()) ends[bucket] = total += Math.min(count, cap);
  const starts = Uint32Array.from(ends, (_, bucket) => ends[bucket - 1] ?? 0);
  const next = starts.slice();
  const listed = new Uint32Array(total);
  // In the order of the hash values, the first of a bucket are those that it lists.
  const order = counts.some((count) => count > cap) ? await placesByHash(addresses, highest) : undefined;
  await inTurns(order?.length ?? addresses.length, (from, end) => {
    for (let index = from; index < end; index++) {
      const place = order === undefined ? index : (order[index] ?? 0);
      for (let word = 0; word < width; word++) {
        for (let left = words[place * width + word] ?? 0; left !== 0; left &= left - 1) {
          const bucket = word * WORD_BITS + WORD_BITS - 1 - Math.clz32(left & -left);
          const at = next[bucket] ?? 0;
          if (at === ends[bucket]) continue;
          listed[at] = addresses[place] ?? 0;
          next[bucket] = at + 1;
        }
      }
    }
  });
  return Array.from(starts, (start, bucket) => listed.subarray(start, next[bucket]));
}

/** The places of addresses in the order of their hash values and, where these are the same, of the addresses. */
async function placesByHash(addresses: Uint32Array, highest: number): Promise<Uint32Array> {
  const hashes = new Uint32Array(addresses.length);
  const places = new Uint32Array(addresses.length);
  let length = 0;
  await inTurns(addresses.length, (from, end) => {
    for (let place = from; place < end; place++) {
      const hash = addressHash(addresses[place] ?? 0);
      if (hash > highest) continue;
      hashes[length] = hash;
      places[length++] = place;
    }
  });
  const found = hashes.subarray(0, length);
  await ownTurn();
  const byLower = placesByHalf(found, "lower");
  await ownTurn();
  const order = placesByHalf(found, "upper", byLower);
  await ownTurn();
  // Hardly any two have the same value.
  for (let index = 1; index < length; index++) {
    for (let at = index; at > 0; at--) {
      const [one, before] = [order[at] ?? 0, order[at - 1] ?? 0];
      if (found[one] !== found[before]) break;
      if ((addresses[places[one] ?? 0] ?? 0) > (addresses[places[before] ?? 0] ?? 0)) break;
      order[at] = before;
      order[at - 1] = one;
    }
  }
  for (let index = 0; index < length; index++) order[index] = places[order[index] ?? 0] ?? 0;
  return order;
}
