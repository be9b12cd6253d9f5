import type { NumberColumn } from "@noisefloor/clickhouse/client/native.ts";
import { runInChunks } from "@noisefloor/domain/time/yield.ts";
import { AddressTable, grown } from "./address-table.ts";
import { BLOCK_SECONDS, blocksOf, HOUR_SECONDS } from "./hour-blocks.ts";

export const WORD_BITS = 32;

/** Distinct addresses, each with a bit for each bucket that it was active in. */
export type BucketBits = {
  readonly addresses: Uint32Array;
  /** For each address `width` words: the lowest bit of the first stands for the bucket 0. */
  readonly words: Uint32Array;
  readonly width: number;
};

/**
 * Columns of rows of `tag_addresses`: an address, when its block of hours starts, in seconds since 1970 UTC, and the
 * bits of the hours, in two halves. Several rows may be of the same address and block.
 */
export type ActivityRows = {
  readonly source_ip: NumberColumn;
  readonly start: NumberColumn;
  readonly hours: NumberColumn;
};

/** Finds the buckets that the addresses of rows were active in. */
export type RowCounter = {
  /** Rows in any order. */
  add(rows: ActivityRows): Promise<void>;
  /** Whether the bits are not too many; else further rows are left out. */
  fits(): boolean;
  /** The buckets' bits and the number of addresses of each bucket. */
  counted(): { readonly bits: BucketBits; readonly counts: Uint32Array };
};

/** Buckets of `width` from `start`, and the hours of them that count; times in seconds since 1970 UTC. */
export type Grid = { readonly from: number; readonly end: number; readonly start: number; readonly width: number };

/** @param maxWords of bits, 32 in each, in an array that grows by doubling. */
export function createRowCounter(grid: Grid, buckets: number, maxWords: number): RowCounter {
  const counted: Counted = {
    table: new AddressTable(),
    width: Math.ceil(buckets / WORD_BITS),
    words: new Uint32Array(),
    counts: new Uint32Array(buckets),
  };
  const hours = layOut(grid);
  const fits = () => counted.table.count * counted.width <= maxWords;
  return {
    async add(rows) {
      if (!fits()) return;
      await runInChunks(rows.start.length, (from, end) => {
        addRows(rows, { from, end }, hours, counted);
        return fits();
      });
    },
    fits,
    counted() {
      const { table, words, width, counts } = counted;
      return { bits: { addresses: table.addresses(), words, width }, counts };
    },
  };
}

type Counted = {
  readonly table: AddressTable;
  /** Words for each address. */
  readonly width: number;
  /** The bits of the buckets, by the index of the address. */
  words: Uint32Array;
  readonly counts: Uint32Array;
};

function reserve(counted: Counted, more: number): void {
  const { table, width } = counted;
  table.reserve(more);
  const length = table.capacity * width;
  if (counted.words.length < length) counted.words = grown(counted.words, length);
}

const WORDS_PER_BLOCK = BLOCK_SECONDS / HOUR_SECONDS / WORD_BITS;

type Hours = {
  /** The start of the first block, in seconds since 1970 UTC. From there hours are numbered. */
  readonly first: number;
  /** Two words for each block, with the bits of the hours in the slice. */
  readonly masks: Uint32Array;
  readonly bucketOf: Int32Array;
  /** For each hour, the bits of the later hours of its word that are in later buckets. */
  readonly later: Int32Array;
};

function layOut(grid: Grid): Hours {
  const { first, masks } = blocksOf(grid);
  const words = new Uint32Array(BigUint64Array.from(masks).buffer);
  const bucketOf = Int32Array.from({ length: words.length * WORD_BITS }, (_, hour) =>
    Math.floor((first + hour * HOUR_SECONDS - grid.start) / grid.width),
  );
  const later = new Int32Array(bucketOf.length);
  for (let hour = later.length - 1; hour >= 0; hour--) {
    const bit = hour % WORD_BITS;
    const isNextInBucket = bit + 1 < WORD_BITS && bucketOf[hour] === bucketOf[hour + 1];
    // Shifted by `bit`, -2 has all bits above this one.
    later[hour] = isNextInBucket ? (later[hour + 1] ?? 0) : -2 << bit;
  }
  return { first, masks: words, bucketOf, later };
}

type Range = { readonly from: number; readonly end: number };

/** Sets the bits of the buckets that the hours of rows are in, and counts those that were not set before. */
function addRows(rows: ActivityRows, { from, end }: Range, hours: Hours, counted: Counted): void {
  reserve(counted, end - from);
  const { table, words, width, counts } = counted;
  const { first, masks, bucketOf, later } = hours;
  for (let row = from; row < end; ) {
    // The table's key puts rows of the same block side by side: its masks are looked up once for all of them.
    const start = rows.start[row] ?? 0;
    const word = ((start - first) / BLOCK_SECONDS) * WORDS_PER_BLOCK;
    const [firstMask, nextMask] = [masks[word] ?? 0, masks[word + 1] ?? 0];
    for (; row < end && rows.start[row] === start; row++) {
      let left = (rows.hours[row * WORDS_PER_BLOCK] ?? 0) & firstMask;
      let after = (rows.hours[row * WORDS_PER_BLOCK + 1] ?? 0) & nextMask;
      if ((left | after) === 0) continue;

      const index = table.add(rows.source_ip[row] ?? 0);
      for (let firstHour = word * WORD_BITS; ; firstHour += WORD_BITS) {
        while (left !== 0) {
          const hour = firstHour + WORD_BITS - 1 - Math.clz32(left & -left);
          const bucket = bucketOf[hour] ?? 0;
          const at = index * width + (bucket >>> 5);
          const before = words[at] ?? 0;
          const bit = 1 << bucket;
          if ((before & bit) === 0) {
            words[at] = before | bit;
            counts[bucket] = (counts[bucket] ?? 0) + 1;
          }
          left &= later[hour] ?? 0;
        }
        if (after === 0) break;
        left = after;
        after = 0;
      }
    }
  }
}
