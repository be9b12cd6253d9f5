import { isRefused } from "@noisefloor/clickhouse/client/errors.ts";
import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { LRUCache } from "lru-cache";
import { type BucketBits, createRowCounter } from "../address-sets/count-rows.ts";
import { blocksOf, HOUR_SECONDS, segmentCount, segmentsOf } from "../address-sets/hour-blocks.ts";
import { countPerBucket, countPerWideBucket, MAX_WIDE_BUCKETS, readRows } from "./queries.ts";

/** Buckets of `width` from `start`, and the hours of them that are counted; times in seconds since 1970 UTC. */
export type Grid = {
  readonly tag: string;
  readonly scopes: Scope[];
  readonly from: number;
  readonly end: number;
  readonly start: number;
  readonly width: number;
  /** How many there are. */
  readonly buckets: number;
};

/** How much this process counts; the store counts what is more. */
export type MaxInProcess = {
  readonly rows: number;
  /** Words of 32 bits, one bit for each address and bucket. */
  readonly words: number;
};

/** Six megabytes of rows and 16 of bits, which take tens of milliseconds. */
export const MAX_IN_PROCESS: MaxInProcess = { rows: 400_000, words: 2 ** 22 };

/** The buckets' bits of each address, and the number of addresses of each bucket. */
export type CountedRows = { readonly bits: BucketBits; readonly counts: Uint32Array };

/** Queries of too many rows: for a while their rows are not read again. */
export type TooLarge = LRUCache<string, true>;

/** @param now in milliseconds. */
export const rememberTooLarge = (now: () => number): TooLarge =>
  new LRUCache({ max: 1_000, ttl: 10 * 60_000, ttlResolution: 0, perf: { now } });

export type CountRowsDeps = {
  readonly max: MaxInProcess;
  readonly tooLarge: TooLarge;
  readonly read: Read;
};

/**
 * Counts the addresses of a tag that has few rows in this process.
 * @returns undefined where there are too many rows, or too many bits, or were lately.
 */
export async function countRows(grid: Grid, deps: CountRowsDeps): Promise<CountedRows | undefined> {
  const query = JSON.stringify([grid.tag, grid.scopes, grid.end - grid.from, grid.width]);
  if (deps.tooLarge.has(query)) return undefined;
  const counted = await readAndCount(grid, deps);
  if (counted === undefined) deps.tooLarge.set(query, true);
  return counted;
}

async function readAndCount(grid: Grid, { max, read }: CountRowsDeps): Promise<CountedRows | undefined> {
  const { tag, scopes, end } = grid;
  const query = readRows({ maxRows: max.rows, scopes: scopes.length });
  const counter = createRowCounter(grid, grid.buckets, max.words);
  try {
    await read({ ...query, onBlock: counter.add }, { tag, scopes, end, first: blocksOf(grid).first });
  } catch (error) {
    // The store counts the rows before it reads any.
    if (isRefused(error)) return undefined;
    throw error;
  }
  return counter.fits() ? counter.counted() : undefined;
}

/** From this width on, counting bits is faster than merging the sets of a bucket's hours. */
const MIN_WIDE_SECONDS = 17 * HOUR_SECONDS;

/** Narrow buckets cut a block into many segments, and the bits of many buckets do not fit into a number. */
export function areWide({ width, buckets }: Pick<Grid, "width" | "buckets">): boolean {
  return width >= MIN_WIDE_SECONDS && buckets <= MAX_WIDE_BUCKETS;
}

/** Counts the addresses of each bucket in the store: wide ones by the bits of each address, others by the hours' sets. */
export async function countInStore(grid: Grid, read: Read): Promise<Uint32Array> {
  const { tag, scopes, from, end, start, width, buckets } = grid;
  const rows = areWide(grid)
    ? await read(countPerWideBucket(segmentCount(width)), {
        ...{ tag, scopes, from, end },
        ...segmentsOf({ from, end }, { start, width }),
      })
    : await read(countPerBucket(scopes.length), { tag, scopes, from, end, start, width });
  const counts = new Uint32Array(buckets);
  for (const { bucket, active_ips } of rows) counts[bucket] = active_ips;
  return counts;
}
