import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Window } from "@noisefloor/domain/time/window.ts";
import { oneAhead } from "../one-ahead.ts";
import { type Counts, countBuckets, type Grid } from "./count-buckets.ts";
import { HIGHEST_HASH, thresholdFor } from "./hash-threshold.ts";
import { blocksOf } from "./hour-blocks.ts";
import { decodeAddresses } from "./listed-addresses.ts";
import { samplePerBucket } from "./queries.ts";
import { sortAddresses } from "./sort-addresses.ts";

/** SPEC, Limits: IP addresses per bucket. */
export const MAX_IPS_PER_BUCKET = 1_000;

/** Attempts to list buckets whose counts change in the meantime. */
const MAX_ATTEMPTS = 4;
/** Parsing a query's answer blocks the event loop: this many addresses are half a megabyte. */
const MAX_IPS_PER_QUERY = 100_000;

export type ActivityBucket = Window & {
  /** Distinct addresses in the bucket, an exact count. */
  readonly activeIps: number;
  /** All of them, or a uniform sample of {@link MAX_IPS_PER_BUCKET}, ascending; none without `includeIps`. */
  readonly ips: Uint32Array;
};

/** Lists buckets in groups of up to {@link MAX_IPS_PER_QUERY} addresses. */
export async function* listBuckets(
  windows: readonly Window[],
  counts: Counts,
  grid: Grid,
  read: Read,
): AsyncGenerator<ActivityBucket> {
  const listGroups = async function* () {
    for (const [first, end] of groupBuckets(windows.length, counts)) {
      const part = sliceCounts(counts, first, end);
      yield await countAndList(windows.slice(first, end), part, sliceGrid(grid, first, end), read);
    }
  };
  for await (const buckets of oneAhead(listGroups())) yield* buckets;
}

/** The first bucket of each group, and the first after it. */
function groupBuckets(buckets: number, counts: Counts): [first: number, end: number][] {
  const groups: [first: number, end: number][] = [];
  for (let first = 0; first < buckets; ) {
    let end = first;
    for (let ips = 0; end < buckets; end++) {
      ips += Math.min(MAX_IPS_PER_BUCKET, counts.get(end) ?? 0);
      if (ips > MAX_IPS_PER_QUERY && end > first) break;
    }
    groups.push([first, end]);
    first = end;
  }
  return groups;
}

/** The part of a grid with the buckets from `first` to `endBucket`, exclusive, renumbered from 0. */
function sliceGrid(grid: Grid, first: number, endBucket: number): Grid {
  const start = grid.start + first * grid.width;
  const end = Math.min(grid.end, grid.start + endBucket * grid.width);
  return { ...grid, start, from: Math.max(grid.from, start), end };
}

function sliceCounts(counts: Counts, first: number, end: number): Counts {
  return new Map(
    [...counts].flatMap(([bucket, count]) => (bucket < first || bucket >= end ? [] : [[bucket - first, count]])),
  );
}

/**
 * Lists buckets that were counted by an earlier query; observations may have arrived since. A list shorter than the cap
 * is complete, so its length replaces the count. When a bucket grew beyond the cap, all buckets are counted and listed
 * again.
 */
async function countAndList(
  windows: readonly Window[],
  counted: Counts,
  grid: Grid,
  read: Read,
): Promise<ActivityBucket[]> {
  let counts = counted;
  for (let attempt = 1; ; attempt++) {
    const countOf = (bucket: number) => counts.get(bucket) ?? 0;
    const lists = await sample(counts, windows.length, grid, read);
    const hasOutgrown = [...lists].some(([bucket, { found }]) => found > MAX_IPS_PER_BUCKET && countOf(bucket) < found);
    if (hasOutgrown && attempt < MAX_ATTEMPTS) {
      counts = await countBuckets(grid, read);
      continue;
    }
    return windows.map((window, bucket) => {
      const ips = sortAddresses(decodeAddresses(lists.get(bucket)?.ips ?? ""));
      const activeIps = ips.length < MAX_IPS_PER_BUCKET ? ips.length : Math.max(ips.length, countOf(bucket));
      return { ...window, activeIps, ips };
    });
  }
}

type Listed = { readonly found: number; readonly ips: string };

/**
 * The addresses of each bucket or, beyond the cap, a uniform sample: those with the lowest hash values. The query skips
 * rows above a threshold, which about 1,150 addresses are expected to be below; a bucket with too few of them is
 * queried again with twice the threshold.
 */
async function sample(
  counts: ReadonlyMap<number, number>,
  buckets: number,
  grid: Grid,
  read: Read,
): Promise<Map<number, Listed>> {
  const lists = new Map<number, Listed>();
  const query = samplePerBucket(MAX_IPS_PER_BUCKET);
  let pending = new Map(
    Array.from({ length: buckets }, (_, bucket) => [bucket, thresholdFor(MAX_IPS_PER_BUCKET, counts.get(bucket) ?? 0)]),
  );
  while (pending.size > 0) {
    const thresholds = Array.from({ length: buckets }, (_, bucket) => pending.get(bucket) ?? 0);
    for (const row of await read(query, { ...grid, ...blocksOf(grid), thresholds })) {
      // A complete bucket has the threshold 0 now, which still matches the hash 0: keep its list.
      if (pending.has(row.bucket)) lists.set(row.bucket, row);
    }
    const incomplete = [...pending].filter(
      ([bucket, threshold]) => threshold < HIGHEST_HASH && (lists.get(bucket)?.found ?? 0) < MAX_IPS_PER_BUCKET,
    );
    pending = new Map(incomplete.map(([bucket, threshold]) => [bucket, Math.min(HIGHEST_HASH, threshold * 2)]));
  }
  return lists;
}
