import { addressHash } from "../address-hash.ts";
import type { Grid } from "../count-buckets.ts";
import { dropRepeated, type Part, slotsFor } from "../drop-repeated.ts";
import { pick, placesByHalf } from "../places-by-half.ts";
import { bandsOf } from "./hash-bands.ts";
import { nthLowest } from "./nth-lowest.ts";
import type { SampleRows } from "./queries.ts";
import { sortNumbers } from "./sort-numbers.ts";

export type BucketList = {
  /** How many distinct addresses its rows have; once enough were found, they may have more. */
  readonly found: number;
  /** Those that it lists, ascending. */
  readonly ips: Uint32Array;
};

/** Lists share arrays of up to so many addresses: to make an array for each takes longer than to fill it. */
const SHARED_LENGTH = 2 ** 16;

/**
 * Lists the addresses of each bucket, from the first one on: all that were read or, where these are more than `cap`,
 * those with the lowest hash values and, where these are the same, the lowest addresses.
 * @param blocks rows in any order.
 * @param enough for each bucket, how many distinct addresses to find, `cap` or more: of further rows only those are
 *   counted that cannot be the same.
 */
export function* listSamples(
  blocks: readonly SampleRows[],
  grid: Pick<Grid, "start" | "width">,
  enough: readonly number[],
  cap: number,
): Generator<BucketList> {
  const rows = orderRows(blocks, grid, enough.length);
  const { keys, bands, mostOfBucket } = rows;
  const candidates = new Uint32Array(mostOfBucket);
  const hashes = new Uint32Array(mostOfBucket);
  const slots = slotsFor(mostOfBucket);
  let shared = new Uint32Array();
  let listed = 0;
  let row = 0;
  for (const [bucket, wanted] of enough.entries()) {
    const nextBucket = (bucket + 1) * bands;
    let [found, length] = [0, 0];
    while (row < keys.length && (keys[row] ?? 0) < nextBucket) {
      const [first, key] = [row, keys[row]];
      if (found >= wanted) {
        let largest = 0;
        for (; keys[row] === key; row++) largest = Math.max(largest, lengthOf(rows, row));
        found += largest;
        continue;
      }
      let end = length;
      for (; keys[row] === key; row++) end = append(rows, row, candidates, end);
      if (row - first > 1) end = dropRepeated(candidates, { from: length, end }, slots);
      found += end - length;
      if (end > cap && length < cap) keepLowest(candidates, { from: length, end }, cap - length, hashes);
      length = Math.min(cap, end);
    }
    if (shared.length - listed < length) {
      shared = new Uint32Array(Math.max(length, Math.min(SHARED_LENGTH, cap * (enough.length - bucket))));
      listed = 0;
    }
    const ips = shared.subarray(listed, listed + length);
    for (let place = 0; place < length; place++) ips[place] = candidates[place] ?? 0;
    sortNumbers(ips);
    listed += length;
    yield { found, ips };
  }
}

type OrderedRows = {
  /** The bucket and the band of each row as one number, ascending. */
  readonly keys: Uint32Array;
  /** How many bands there are. */
  readonly bands: number;
  /** The addresses of each block, the block of each row, and where its addresses are among those of the block. */
  readonly values: readonly Uint32Array[];
  readonly blockOf: Uint32Array;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  /** The most addresses that the rows of a bucket have together. */
  readonly mostOfBucket: number;
};

/** Puts rows in the order of their buckets, and those of a bucket in the order of their bands. */
function orderRows(
  blocks: readonly SampleRows[],
  { start, width }: Pick<Grid, "start" | "width">,
  buckets: number,
): OrderedRows {
  const { froms, numberOf } = bandsOf(blocks);
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
      keys[row] = bucket * froms.length + numberOf(hash_from[place] ?? 0);
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
    bands: froms.length,
    values: blocks.map(({ addresses }) => addresses.values),
    blockOf: pick(blockOf, order),
    starts: pick(starts, order),
    ends: pick(ends, order),
    mostOfBucket: ofBucket.reduce((most, addresses) => Math.max(most, addresses), 0),
  };
}

function lengthOf({ starts, ends }: OrderedRows, row: number): number {
  return (ends[row] ?? 0) - (starts[row] ?? 0);
}

const NONE = new Uint32Array();

/** Writes the addresses of a row to an array, from a place on. @returns where they end. */
function append({ values, blockOf, starts, ends }: OrderedRows, row: number, to: Uint32Array, at: number): number {
  const from = values[blockOf[row] ?? 0] ?? NONE;
  const last = ends[row] ?? 0;
  let end = at;
  for (let place = starts[row] ?? 0; place < last; place++) to[end++] = from[place] ?? 0;
  return end;
}

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
