import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { ownTurn } from "@noisefloor/domain/time/own-turn.ts";
import type { Window } from "@noisefloor/domain/time/window.ts";
import { inOrder } from "../in-order.ts";
import { type Counts, countBuckets, type Grid } from "./count-buckets.ts";
import { HIGHEST_HASH } from "./hash-threshold.ts";
import { blocksOf } from "./hour-blocks.ts";
import { type BucketList, listSamples } from "./list-samples.ts";
import { type BucketPlan, planSamples } from "./plan-samples.ts";
import { lowestAddresses, readSampleSizes, readSamples } from "./queries.ts";

/** SPEC, Limits: IP addresses per bucket. */
export const MAX_IPS_PER_BUCKET = 1_000;

/** To list so many addresses takes some two milliseconds. */
const ADDRESSES_PER_TURN = 64_000;
/** The store works on one while this process lists what another has found. */
const QUERIES_AT_ONCE = 2;

export type ActivityBucket = Window & {
  /** Distinct addresses in the bucket, an exact count. */
  readonly activeIps: number;
  /** All of them, or a uniform sample of {@link MAX_IPS_PER_BUCKET}, ascending; none without `includeIps`. */
  readonly ips: Uint32Array;
};

/** How to list buckets. */
export type ListPlan = {
  readonly buckets: readonly BucketPlan[];
  /** A query reads so many addresses at most. Of a bucket with more, the store picks those that it lists. */
  readonly maxCandidates: number;
};

/** Finds out how many addresses the rows of buckets have: that says which of them to read, and counts many buckets. */
export async function planLists(
  windows: readonly Window[],
  grid: Grid,
  maxCandidates: number,
  read: Read,
): Promise<ListPlan> {
  const sizes = await read(readSampleSizes(grid.scopes.length), grid);
  return { buckets: planSamples(sizes, windows, MAX_IPS_PER_BUCKET), maxCandidates };
}

/** Counts the buckets whose plan does not say how many addresses they have, and those between them. */
export async function countOthers({ buckets, maxCandidates }: ListPlan, grid: Grid, read: Read): Promise<Counts> {
  const isOther = (plan: BucketPlan) => plan.count === undefined && !isWhole(plan, maxCandidates);
  const first = buckets.findIndex(isOther);
  if (first < 0) return new Map();
  const counts = await countBuckets(partOf(grid, { first, end: buckets.findLastIndex(isOther) + 1 }), read);
  return new Map([...counts].map(([bucket, count]) => [first + bucket, count]));
}

/** Whether all addresses of a bucket are read, so that they need not be counted before. */
function isWhole({ threshold, candidates }: BucketPlan, maxCandidates: number): boolean {
  return threshold === HIGHEST_HASH && candidates <= maxCandidates;
}

/** @param counting {@link countOthers}, under way. */
export async function* listBuckets(
  plan: ListPlan,
  counting: Promise<Counts>,
  grid: Grid,
  read: Read,
): AsyncGenerator<ActivityBucket, void, void> {
  const [counts, lists] = await Promise.all([counting, readLists(plan, grid, read)]);
  for (const [number, bucket] of plan.buckets.entries()) {
    const { found, ips } = lists.get(number) ?? NOT_LISTED;
    if (isWhole(bucket, plan.maxCandidates)) {
      yield { ...bucket.window, activeIps: found, ips };
      continue;
    }
    const own = partOf(grid, { first: number, end: number + 1 });
    let activeIps = bucket.count ?? counts.get(number) ?? 0;
    // More than all were found, and not all were read: observations have arrived since it was counted.
    if (found > activeIps) activeIps = Math.max(found, (await countBuckets(own, read)).get(0) ?? 0);
    // Fewer than planned are found where rows have been replaced since.
    yield { ...bucket.window, activeIps, ips: found >= MAX_IPS_PER_BUCKET ? ips : await readLowest(own, read) };
  }
}

const NOT_LISTED: BucketList = { found: 0, ips: new Uint32Array() };

/** The lists of buckets by their numbers, without those that have too many candidates. */
async function readLists(plan: ListPlan, grid: Grid, read: Read): Promise<ReadonlyMap<number, BucketList>> {
  const listPart = async (buckets: Buckets) => {
    const part = partOf(grid, buckets);
    const thresholds = plan.buckets.slice(buckets.first, buckets.end).map(({ threshold }) => threshold);
    const highest = thresholds.reduce((most, threshold) => Math.max(most, threshold), 0);
    const blocks = await read(readSamples(grid.scopes.length), { ...part, highest, thresholds });
    const lists: BucketList[] = [];
    let untilYield = ADDRESSES_PER_TURN;
    for (const list of listSamples(blocks, part, thresholds, MAX_IPS_PER_BUCKET)) {
      lists.push(list);
      untilYield -= list.found;
      if (untilYield > 0) continue;
      untilYield = ADDRESSES_PER_TURN;
      await ownTurn();
    }
    return { first: buckets.first, lists };
  };
  const lists = new Map<number, BucketList>();
  for await (const part of inOrder(groupBuckets(plan), QUERIES_AT_ONCE, listPart)) {
    for (const [bucket, list] of part.lists.entries()) lists.set(part.first + bucket, list);
  }
  return lists;
}

/** Neighbouring buckets: the number of the first one, and of the first after them. */
type Buckets = { readonly first: number; readonly end: number };

/** Groups buckets that a query reads together; leaves out those that have too many candidates alone. */
function* groupBuckets({ buckets, maxCandidates }: ListPlan): Generator<Buckets> {
  let [first, together] = [0, 0];
  for (const [bucket, { candidates }] of buckets.entries()) {
    together += candidates;
    if (together <= maxCandidates) continue;
    if (bucket > first) yield { first, end: bucket };
    [first, together] = candidates <= maxCandidates ? [bucket, candidates] : [bucket + 1, 0];
  }
  if (buckets.length > first) yield { first, end: buckets.length };
}

/** The part of a grid with some buckets, renumbered from 0. */
function partOf(grid: Grid, { first, end }: Buckets): Grid {
  const start = grid.start + first * grid.width;
  return { ...grid, start, from: Math.max(grid.from, start), end: Math.min(grid.end, grid.start + end * grid.width) };
}

/** The list of the only bucket of a grid, whatever the hash values of its addresses are. */
async function readLowest(grid: Grid, read: Read): Promise<Uint32Array> {
  const { tag, scopes, from, end } = grid;
  const blocks = await read(lowestAddresses(MAX_IPS_PER_BUCKET), { tag, scopes, from, end, ...blocksOf(grid) });
  return Uint32Array.from(blocks.flatMap(({ source_ip }) => [...source_ip])).sort();
}
