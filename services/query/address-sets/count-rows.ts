import type { NumberColumn } from "@noisefloor/clickhouse/client/native.ts";
import { scramble } from "../address-index/scramble.ts";
import { type BucketBits, WORD_BITS } from "./bucket-bits.ts";
import { BLOCK_SECONDS, blocksOf, HOUR_SECONDS } from "./hour-blocks.ts";
import { inTurns } from "./turns.ts";

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
  const table = createTable(Math.ceil(buckets / WORD_BITS));
  const counts = new Uint32Array(buckets);
  const hours = layOut(grid);
  const fits = () => table.count * table.width <= maxWords;
  return {
    async add(rows) {
      if (!fits()) return;
      await inTurns(rows.start.length, (from, end) => {
        addRows(rows, { from, end }, hours, table, counts);
        return fits();
      });
    },
    fits,
    counted() {
      const { addresses, words, width, count } = table;
      return { bits: { addresses: addresses.subarray(0, count), words, width }, counts };
    },
  };
}

/** Bits that grow, and a hash table of their addresses. A Map takes nine times as long. */
type Table = {
  count: number;
  addresses: Uint32Array;
  readonly width: number;
  words: Uint32Array;
  /** At most half full: an address's place among the addresses, plus 1, is in its slot or in the next that was free. */
  slots: Uint32Array;
  /** The slot of an address is the upper bits of the scrambled address, without so many. */
  shift: number;
};

function createTable(width: number): Table {
  const none = new Uint32Array();
  return { count: 0, addresses: none, width, words: none, slots: none, shift: WORD_BITS };
}

/** Lets so many more addresses fit. */
function ensureCapacity(table: Table, more: number): void {
  const needed = table.count + more;
  if (needed <= table.addresses.length) return;
  const slotBits = Math.ceil(Math.log2(2 * needed));
  const room = 2 ** (slotBits - 1);
  table.addresses = grown(table.addresses, room);
  table.words = grown(table.words, room * table.width);
  table.slots = new Uint32Array(2 ** slotBits);
  table.shift = WORD_BITS - slotBits;
  const { addresses, slots, shift } = table;
  for (let place = 0; place < table.count; place++) {
    let slot = scramble(addresses[place] ?? 0) >>> shift;
    while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
    slots[slot] = place + 1;
  }
}

function grown(numbers: Uint32Array, length: number): Uint32Array {
  const longer = new Uint32Array(length);
  longer.set(numbers);
  return longer;
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
    // Shifted by so many bits, -2 has all bits above this one.
    later[hour] = isNextInBucket ? (later[hour + 1] ?? 0) : -2 << bit;
  }
  return { first, masks: words, bucketOf, later };
}

type Range = { readonly from: number; readonly end: number };

/** Sets the bits of the buckets that the hours of rows are in, and counts those that were not set before. */
function addRows(rows: ActivityRows, { from, end }: Range, hours: Hours, table: Table, counts: Uint32Array): void {
  ensureCapacity(table, end - from);
  const { addresses, slots, shift, words, width } = table;
  const { first, masks, bucketOf, later } = hours;
  const lastSlot = slots.length - 1;
  let { count } = table;
  for (let row = from; row < end; ) {
    // The table's key puts rows of the same block side by side: its place and masks are looked up once for all of them.
    const start = rows.start[row] ?? 0;
    const word = ((start - first) / BLOCK_SECONDS) * WORDS_PER_BLOCK;
    const [firstMask, nextMask] = [masks[word] ?? 0, masks[word + 1] ?? 0];
    for (; row < end && rows.start[row] === start; row++) {
      let left = (rows.hours[row * WORDS_PER_BLOCK] ?? 0) & firstMask;
      let after = (rows.hours[row * WORDS_PER_BLOCK + 1] ?? 0) & nextMask;
      if ((left | after) === 0) continue;

      const address = rows.source_ip[row] ?? 0;
      let slot = scramble(address) >>> shift;
      let place = (slots[slot] ?? 0) - 1;
      while (place >= 0 && addresses[place] !== address) {
        slot = (slot + 1) & lastSlot;
        place = (slots[slot] ?? 0) - 1;
      }
      if (place < 0) {
        place = count++;
        addresses[place] = address;
        slots[slot] = count;
      }

      for (let firstHour = word * WORD_BITS; ; firstHour += WORD_BITS) {
        while (left !== 0) {
          const hour = firstHour + WORD_BITS - 1 - Math.clz32(left & -left);
          const bucket = bucketOf[hour] ?? 0;
          const at = place * width + (bucket >>> 5);
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
  table.count = count;
}
