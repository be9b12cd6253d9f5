import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Window } from "@noisefloor/domain/time/window.ts";
import { addressHash, HIGHEST_HASH, thresholdFor } from "../address-sets/address-hash.ts";
import { createRowCounter } from "../address-sets/count-rows.ts";
import { blockHoursOf } from "../address-sets/hour-blocks.ts";
import { listByBucket } from "../address-sets/list-by-bucket.ts";
import { inOrder } from "../in-order.ts";
import { countInStore, type Grid } from "./count.ts";
import { readRowsUpTo } from "./queries.ts";

/** SPEC, Limits: IP addresses per bucket. */
export const MAX_IPS_PER_BUCKET = 1_000;

/** About 300,000 addresses, with eight words of bits each. */
const BUCKETS_PER_QUERY = 256;
const QUERIES_IN_PARALLEL = 2;

export type ActivityBucket = Window & {
  /** Distinct addresses in the bucket, an exact count. */
  readonly activeIps: number;
  /** All of them, or a uniform sample of {@link MAX_IPS_PER_BUCKET}, ascending; none without `includeIps`. */
  readonly ips: Uint32Array;
};

/**
 * Lists the addresses of each bucket from the rows under a hash threshold, which depends on the bucket's count. The
 * store reads the next buckets while the caller handles those before them.
 * @param counts by bucket.
 */
export async function* listBuckets(
  windows: readonly Window[],
  grid: Grid,
  counts: Uint32Array,
  read: Read,
): AsyncGenerator<ActivityBucket, void, void> {
  const firsts = Array.from(
    { length: Math.ceil(grid.buckets / BUCKETS_PER_QUERY) },
    (_, group) => group * BUCKETS_PER_QUERY,
  );
  const listFrom = async (first: number) => {
    const buckets = Math.min(grid.buckets - first, BUCKETS_PER_QUERY);
    const start = grid.start + first * grid.width;
    const from = Math.max(grid.from, start);
    const group = { ...grid, start, buckets, from, end: Math.min(grid.end, start + buckets * grid.width) };
    const listed = await listCounted(group, counts.subarray(first, first + buckets), read);
    return windows.slice(first, first + buckets).map((window, bucket) => ({
      ...window,
      activeIps: listed.counts[bucket] ?? 0,
      ips: listed.lists[bucket] ?? NO_IPS,
    }));
  };
  for await (const buckets of inOrder(firsts, QUERIES_IN_PARALLEL, listFrom)) yield* buckets;
}

const NO_IPS = new Uint32Array();

/** Counts and lists that agree: where observations have arrived or gone since the count, it counts and lists again. */
async function listCounted(grid: Grid, counted: Uint32Array, read: Read) {
  let counts = counted;
  for (let wanted = MAX_IPS_PER_BUCKET; ; wanted *= 2) {
    const thresholds = counts.map((count) => thresholdFor(wanted, count));
    const counter = createRowCounter(grid, grid.buckets, Number.POSITIVE_INFINITY);
    const { tag, scopes, from, end } = grid;
    const params = { tag, scopes, from, end, ...thresholdsByHour(grid, thresholds) };
    await read({ ...readRowsUpTo(scopes.length), onBlock: counter.add }, params);
    const { bits, counts: found } = counter.counted();
    const lists = await listByBucket(bits, found, MAX_IPS_PER_BUCKET);
    const isSettled = (threshold: number, bucket: number) => {
      if (threshold === HIGHEST_HASH) return true;
      const list = lists[bucket] ?? NO_IPS;
      const isComplete = list.length === MAX_IPS_PER_BUCKET && list.every((ip) => addressHash(ip) <= threshold);
      return isComplete && (found[bucket] ?? 0) <= (counts[bucket] ?? 0);
    };
    if (thresholds.every(isSettled)) {
      // Under the highest threshold all addresses were read: what was found is the count.
      const settled = counts.map((count, bucket) =>
        thresholds[bucket] === HIGHEST_HASH ? (found[bucket] ?? 0) : count,
      );
      return { counts: settled, lists };
    }
    counts = await countInStore(grid, read);
  }
}

/** The thresholds of the buckets, by hour of the blocks, and the highest by block. */
function thresholdsByHour(grid: Grid, thresholds: Uint32Array) {
  const { first, hours } = blockHoursOf(grid);
  const byHour = hours.map((block) =>
    block.map((hour) => thresholds[Math.floor((hour - grid.start) / grid.width)] ?? 0),
  );
  return { first, thresholds: byHour.flat(), highest: byHour.map((block) => Math.max(...block)) };
}
