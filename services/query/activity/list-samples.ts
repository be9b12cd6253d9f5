import { addressHash } from "./address-hash.ts";
import type { Grid } from "./count-buckets.ts";
import { nthLowest } from "./nth-lowest.ts";
import { pick, placesByHalf } from "./places-by-half.ts";
import type { SampleRows } from "./queries.ts";
import { createSort } from "./sort-numbers.ts";

/** How many distinct addresses were read of a bucket, and those that it lists, ascending. */
export type BucketList = { readonly found: number; readonly ips: Uint32Array };

/** Lists share arrays of so many addresses: to make an array for each takes longer than to fill it. */
const SHARED_LENGTH = 2 ** 16;

/**
 * Lists the addresses of each bucket, from the first one on: all that were read or, where these are more than `cap`,
 * those with the lowest hash values and, where these are the same, the lowest addresses.
 * @param blocks rows in any order.
 */
export function* listSamples(
  blocks: readonly SampleRows[],
  grid: Pick<Grid, "start" | "width">,
  buckets: number,
  cap: number,
): Generator<BucketList> {
  const { keys, bands, blockOf, starts, ends, mostOfBucket } = orderRows(blocks, grid, buckets);
  const sort = createSort();
  const room = new Uint32Array(mostOfBucket);
  const hashes = new Uint32Array(mostOfBucket);
  let shared = new Uint32Array();
  let listed = 0;
  for (let bucket = 0, row = 0; bucket < buckets; bucket++) {
    const nextBucket = (bucket + 1) * bands;
    let [found, length] = [0, 0];
    while (row < keys.length && (keys[row] ?? 0) < nextBucket) {
      const [first, key] = [row, keys[row]];
      let end = length;
      for (; keys[row] === key; row++) {
        const values = blocks[blockOf[row] ?? 0]?.addresses.values ?? room;
        const last = ends[row] ?? 0;
        for (let place = starts[row] ?? 0; place < last; place++) room[end++] = values[place] ?? 0;
      }
      if (row - first > 1) {
        const addresses = room.subarray(length, end);
        sort(addresses);
        end = length + dropRepeated(addresses);
      }
      found += end - length;
      // Rows with higher hash values follow: these addresses come before all of theirs.
      if (end > cap && length < cap) keepLowest(room, { from: length, end }, cap - length, hashes);
      length = Math.min(cap, end);
    }
    if (shared.length - listed < length) {
      shared = new Uint32Array(Math.max(SHARED_LENGTH, length));
      listed = 0;
    }
    const ips = shared.subarray(listed, listed + length);
    for (let place = 0; place < length; place++) ips[place] = room[place] ?? 0;
    sort(ips);
    listed += length;
    yield { found, ips };
  }
}

type OrderedRows = {
  /** The bucket and the hash values of each row as one number, ascending. */
  readonly keys: Uint32Array;
  /** How many different hash values the rows begin with. */
  readonly bands: number;
  /** The block of each row, and where its addresses are among those of the block. */
  readonly blockOf: Uint32Array;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  /** The most addresses that the rows of a bucket have together. */
  readonly mostOfBucket: number;
};

/** Puts rows in the order of their buckets, and those of a bucket in the order of their hash values. */
function orderRows(
  blocks: readonly SampleRows[],
  { start, width }: Pick<Grid, "start" | "width">,
  buckets: number,
): OrderedRows {
  const hashes = [...new Set(blocks.flatMap(({ hash_from }) => [...hash_from]))].sort((one, other) => one - other);
  const bandOf = new Map(hashes.map((hashFrom, band) => [hashFrom, band]));
  const rows = blocks.reduce((sum, { hour }) => sum + hour.length, 0);
  const keys = new Uint32Array(rows);
  const blockOf = new Uint32Array(rows);
  const starts = new Uint32Array(rows);
  const ends = new Uint32Array(rows);
  const ofBucket = new Uint32Array(buckets);
  let row = 0;
  for (const [number, { hash_from, hour, addresses }] of blocks.entries()) {
    let from = 0;
    for (let place = 0; place < hour.length; place++) {
      const bucket = Math.floor(((hour[place] ?? 0) - start) / width);
      const end = addresses.ends[place] ?? 0;
      keys[row] = bucket * hashes.length + (bandOf.get(hash_from[place] ?? 0) ?? 0);
      blockOf[row] = number;
      starts[row] = from;
      ends[row] = end;
      ofBucket[bucket] = (ofBucket[bucket] ?? 0) + end - from;
      from = end;
      row++;
    }
  }
  const order = placesByHalf(keys, "upper", placesByHalf(keys, "lower"));
  return {
    keys: pick(keys, order),
    bands: hashes.length,
    blockOf: pick(blockOf, order),
    starts: pick(starts, order),
    ends: pick(ends, order),
    mostOfBucket: ofBucket.reduce((most, addresses) => Math.max(most, addresses), 0),
  };
}

/** Leaves each number once, at the start of the array. @returns how many they are. @param sorted ascending. */
function dropRepeated(sorted: Uint32Array): number {
  let kept = 0;
  for (let place = 0; place < sorted.length; place++) {
    const number = sorted[place] ?? 0;
    if (kept === 0 || sorted[kept - 1] !== number) sorted[kept++] = number;
  }
  return kept;
}

type Part = { readonly from: number; readonly end: number };

/**
 * Leaves so many addresses of a part of an array, at its start: those with the lowest hash values and, where these are
 * the same, the lowest addresses. @param hashes is overwritten.
 */
function keepLowest(addresses: Uint32Array, { from, end }: Part, wanted: number, hashes: Uint32Array): void {
  for (let place = from; place < end; place++) hashes[place - from] = addressHash(addresses[place] ?? 0);
  const last = nthLowest(hashes, end - from, wanted);
  const withLast: number[] = [];
  let kept = from;
  for (let place = from; place < end; place++) {
    const hash = hashes[place - from] ?? 0;
    if (hash < last) addresses[kept++] = addresses[place] ?? 0;
    else if (hash === last) withLast.push(addresses[place] ?? 0);
  }
  withLast.sort((one, other) => one - other);
  for (const address of withLast.slice(0, from + wanted - kept)) addresses[kept++] = address;
}
