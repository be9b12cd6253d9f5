import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Window } from "@noisefloor/domain/time/window.ts";
import { inOrder } from "../in-order.ts";
import { type Counts, countBuckets, type Grid } from "./count-buckets.ts";
import { createRowCounter } from "./count-rows.ts";
import { HIGHEST_HASH, thresholdFor } from "./hash-threshold.ts";
import { tiersOf } from "./hash-tiers.ts";
import { BLOCK_SECONDS, blocksOf } from "./hour-blocks.ts";
import { listByBucket } from "./list-by-bucket.ts";
import { lowestAddresses, readLowest } from "./queries.ts";

/** SPEC, Limits: IP addresses per bucket. */
export const MAX_IPS_PER_BUCKET = 1_000;

/** Attempts to list buckets whose counts change in the meantime. */
const MAX_ATTEMPTS = 4;
/** A query reads the rows of so many at most: its plan takes the store as long as the rows of a hundred. */
const MAX_BUCKETS = 512;
/** Four megabytes of the bits of their addresses, which is enough where most of these come again from hour to hour. */
const MAX_WORDS = 2 ** 20;
/** Where they do not: of so many buckets, the bits of all that they may list are as few. */
const MAX_BUCKETS_OF_CHANGING = 128;
/** The store works on one while this process lists what another has found. */
const QUERIES_AT_ONCE = 2;

export type ActivityBucket = Window & {
  /** Distinct addresses in the bucket, an exact count. */
  readonly activeIps: number;
  /** All of them, or a uniform sample of {@link MAX_IPS_PER_BUCKET}, ascending; none without `includeIps`. */
  readonly ips: Uint32Array;
};

/**
 * Lists buckets in groups of up to {@link MAX_BUCKETS} or, once the bits of a group were too many, of up to
 * {@link MAX_BUCKETS_OF_CHANGING}.
 * @param maxWords of the bits of a group's addresses, see {@link createRowCounter}.
 */
export async function* listBuckets(
  windows: readonly Window[],
  counts: Counts,
  grid: Grid,
  maxWords: number,
  read: Read,
): AsyncGenerator<ActivityBucket> {
  let most = MAX_BUCKETS;
  const groupsOf = (first: number, end: number) => groupBuckets({ first, end }, grid, () => most);
  const list = async ([first, end]: Group): Promise<ActivityBucket[]> => {
    const part = sliceCounts(counts, first, end);
    const words = end - first > MAX_BUCKETS_OF_CHANGING ? Math.min(maxWords, MAX_WORDS) : maxWords;
    const listed = await countAndList(windows.slice(first, end), part, sliceGrid(grid, first, end), words, read);
    if (listed !== undefined) return listed;
    most = MAX_BUCKETS_OF_CHANGING;
    const smaller: ActivityBucket[] = [];
    for (const group of groupsOf(first, end)) smaller.push(...(await list(group)));
    return smaller;
  };
  for await (const buckets of inOrder(groupsOf(0, windows.length), QUERIES_AT_ONCE, list)) yield* buckets;
}

/** The first bucket, and the first after it. */
type Group = readonly [first: number, end: number];

/** @param most buckets of a group, asked before each one. */
function* groupBuckets(all: { first: number; end: number }, grid: Grid, most: () => number): Generator<Group> {
  for (let first = all.first, end: number; first < all.end; first = end) {
    const last = first + most();
    end = last < all.end ? endOfGroup(first, last, grid) : all.end;
    yield [first, end];
  }
}

/**
 * The first bucket after a group that may go up to `end`. Where it can, a group ends with a block of hours: the rows of
 * a block that two groups share are read twice.
 */
function endOfGroup(first: number, end: number, { start, width }: Grid): number {
  const lastBlock = Math.floor((start + end * width) / BLOCK_SECONDS) * BLOCK_SECONDS;
  const beforeLastBlock = Math.floor((lastBlock - start) / width);
  return beforeLastBlock > first ? beforeLastBlock : end;
}

/** The part of a grid with the buckets from `first` to `endBucket`, exclusive, renumbered from 0. */
function sliceGrid(grid: Grid, first: number, endBucket: number): Grid {
  const start = grid.start + first * grid.width;
  const end = Math.min(grid.end, grid.start + endBucket * grid.width);
  return { ...grid, start, from: Math.max(grid.from, start), end };
}

function sliceCounts(counts: Counts, first: number, end: number): Counts {
  const part = new Map<number, number>();
  for (let bucket = first; bucket < end; bucket++) {
    const count = counts.get(bucket);
    if (count !== undefined) part.set(bucket - first, count);
  }
  return part;
}

/**
 * Lists buckets that were counted by an earlier query; observations may have arrived since. Where all addresses of a
 * bucket are read, their number replaces the count. Where so many others are that the count cannot be right, all
 * buckets are counted and listed again.
 * @returns undefined where the bits of so many buckets would be too many. Up to {@link MAX_BUCKETS_OF_CHANGING} are
 * read one by one then.
 */
async function countAndList(
  windows: readonly Window[],
  counted: Counts,
  grid: Grid,
  maxWords: number,
  read: Read,
): Promise<ActivityBucket[] | undefined> {
  let counts = counted;
  for (let attempt = 1; ; attempt++) {
    const countOf = (bucket: number) => counts.get(bucket) ?? 0;
    const listed = await readLists(counts, windows.length, grid, maxWords, read);
    if (listed === undefined) return undefined;
    const isOutgrown = listed.some(({ found, isWhole }, bucket) => !isWhole && found > countOf(bucket));
    if (isOutgrown && attempt < MAX_ATTEMPTS) {
      counts = await countBuckets(grid, read);
      continue;
    }
    return windows.map((window, bucket) => {
      const { found, isWhole, ips } = listed[bucket] ?? NONE;
      return { ...window, activeIps: isWhole ? found : Math.max(found, countOf(bucket)), ips };
    });
  }
}

/** `found` addresses were read, and the list is of these; all of the bucket or, unless `isWhole`, at least the cap. */
type Listed = { readonly found: number; readonly isWhole: boolean; readonly ips: Uint32Array };
const NONE: Listed = { found: 0, isWhole: true, ips: new Uint32Array() };

/**
 * The addresses of each bucket or, beyond the cap, a uniform sample: those with the lowest hash values.
 * @returns undefined as {@link countAndList} does.
 */
async function readLists(
  counts: Counts,
  buckets: number,
  grid: Grid,
  maxWords: number,
  read: Read,
): Promise<Listed[] | undefined> {
  const byThreshold = await readByThreshold(counts, buckets, grid, maxWords, read);
  if (byThreshold === undefined && buckets > MAX_BUCKETS_OF_CHANGING) return undefined;
  const listed: Listed[] = [];
  for (let bucket = 0; bucket < buckets; bucket++) {
    const found = byThreshold?.[bucket];
    const isEnough = found !== undefined && (found.isWhole || found.found >= MAX_IPS_PER_BUCKET);
    listed.push(isEnough ? found : await readOne(sliceGrid(grid, bucket, bucket + 1), read));
  }
  return listed;
}

/**
 * The same by one query, which skips rows above thresholds that about 1,150 addresses of each bucket are expected to be
 * below. Only chosen hash values are spread otherwise, or those of addresses that came after the count.
 * @returns undefined where very many more are below them; a bucket may have fewer than the cap, too.
 */
async function readByThreshold(
  counts: Counts,
  buckets: number,
  grid: Grid,
  maxWords: number,
  read: Read,
): Promise<readonly Listed[] | undefined> {
  const wanted = Array.from({ length: buckets }, (_, bucket) =>
    thresholdFor(MAX_IPS_PER_BUCKET, counts.get(bucket) ?? 0),
  );
  const { thresholds, masks, reached } = tiersOf(wanted, grid);
  const counter = createRowCounter(grid, buckets, maxWords);
  const query = readLowest({ tiers: thresholds.length, scopes: grid.scopes.length });
  const { tag, scopes, end } = grid;
  const params = { tag, scopes, end, first: blocksOf(grid).first, thresholds, masks };
  await read({ ...query, onBlock: counter.add }, params);
  const counted = counter.counted();
  if (counted === undefined) return undefined;
  const lists = await listByBucket(counted.bits, counted.counts, MAX_IPS_PER_BUCKET);
  return lists.map((ips, bucket) => {
    return { found: counted.counts[bucket] ?? 0, isWhole: reached[bucket] === HIGHEST_HASH, ips };
  });
}

/** The same of the only bucket of a grid, whatever its hash values are. */
async function readOne(grid: Grid, read: Read): Promise<Listed> {
  const { tag, scopes, from, end } = grid;
  const blocks = await read(lowestAddresses(MAX_IPS_PER_BUCKET), { tag, scopes, from, end, ...blocksOf(grid) });
  const ips = Uint32Array.from(blocks.flatMap(({ source_ip }) => [...source_ip])).sort();
  return { found: ips.length, isWhole: ips.length < MAX_IPS_PER_BUCKET, ips };
}
