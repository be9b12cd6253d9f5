import { inTurns } from "./turns.ts";

export const WORD_BITS = 32;

/**
 * Distinct addresses, each with a bit for each bucket that it was active in. Loops over very many work on these arrays
 * and call nothing: V8 may make an object of an address of 2^31 or more that is passed to a function.
 */
export type BucketBits = {
  readonly addresses: Uint32Array;
  /** Of each address in their order, `width` words: the lowest bit of the first stands for the bucket 0. */
  readonly words: Uint32Array;
  readonly width: number;
};

/** The number of addresses of each bucket. */
export async function countByBucket({ addresses, words, width }: BucketBits, buckets: number): Promise<Uint32Array> {
  const counts = new Uint32Array(buckets);
  await inTurns(addresses.length, (from, end) => {
    for (let at = from * width; at < end * width; at++) {
      const firstBucket = (at % width) * WORD_BITS;
      for (let left = words[at] ?? 0; left !== 0; left &= left - 1) {
        const bucket = firstBucket + WORD_BITS - 1 - Math.clz32(left & -left);
        counts[bucket] = (counts[bucket] ?? 0) + 1;
      }
    }
  });
  return counts;
}
