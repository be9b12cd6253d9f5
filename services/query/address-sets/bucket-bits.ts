import { inTurns } from "./turns.ts";

export const WORD_BITS = 32;
/** The bits of so many words take some milliseconds, as nearly all may be set. */
const WORDS_PER_TURN = 32_000;

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

/** The bits of how many addresses are handled in a turn of the event loop. */
export function addressesPerTurn({ width }: Pick<BucketBits, "width">): number {
  return Math.ceil(WORDS_PER_TURN / Math.max(1, width));
}

/**
 * The number of addresses of each bucket.
 * @param places of the addresses that count; all by default.
 */
export async function countByBucket(
  { addresses, words, width }: BucketBits,
  buckets: number,
  places?: Uint32Array,
): Promise<Uint32Array> {
  const counts = new Uint32Array(buckets);
  const count = (from: number, end: number) => {
    for (let index = from; index < end; index++) {
      const place = places === undefined ? index : (places[index] ?? 0);
      for (let word = 0; word < width; word++) {
        for (let left = words[place * width + word] ?? 0; left !== 0; left &= left - 1) {
          const bucket = word * WORD_BITS + WORD_BITS - 1 - Math.clz32(left & -left);
          counts[bucket] = (counts[bucket] ?? 0) + 1;
        }
      }
    }
  };
  await inTurns((places ?? addresses).length, count, addressesPerTurn({ width }));
  return counts;
}
