import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { ownTurn } from "@noisefloor/domain/time/own-turn.ts";
import type { Window } from "@noisefloor/domain/time/window.ts";
import { inOrder } from "../in-order.ts";
import { type Counts, countBuckets, type Grid } from "./count-buckets.ts";
import { HIGHEST_HASH } from "./hash-threshold.ts";
import { blocksOf } from "./hour-blocks.ts";
import { lowestAddresses } from "./queries.ts";
import { type BucketList, listSamples } from "./samples/list-samples.ts";
import { type BucketPlan, planSamples } from "./samples/plan-samples.ts";
import { readSampleSizes, readSamples } from "./samples/queries.ts";

/** SPEC, Limits: IP addresses per bucket. */
export const MAX_IPS_PER_BUCKET = 1_000;

/** To list buckets of so many addresses takes some two milliseconds. */
const CANDIDATES_PER_TURN = 64_000;
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
  listPlan: ListPlan,
  counting: Promise<Counts>,
  grid: Grid,
  read: Read,
): AsyncGenerator<ActivityBucket, void, void> {
  const [counts, lists] = await Promise.all([counting, readLists(listPlan, grid, read)]);
  for (const [bucket, plan] of listPlan.buckets.entries()) {
    const list = lists.get(bucket) ?? NOT_LISTED;
    if (isWhole(plan, listPlan.maxCandidates)) {
      yield { ...plan.window, activeIps: list.found, ips: list.ips };
      continue;
    }
    const own = partOf(grid, { first: bucket, end: bucket + 1 });
    // Fewer than planned are found where rows have been replaced since.
    const ips = list.found >= MAX_IPS_PER_BUCKET ? list.ips : await readLowest(own, read);
    let activeIps = plan.count ?? counts.get(bucket) ?? 0;
    const found = Math.max(list.found, ips.length);
    if (ips.length < MAX_IPS_PER_BUCKET) activeIps = ips.length;
    // Observations have arrived since it was counted.
    else if (found > activeIps) activeIps = Math.max(found, (await countBuckets(own, read)).get(0) ?? 0);
    yield { ...plan.window, activeIps, ips };
  }
}

const NOT_LISTED: BucketList = { found: 0, ips: new Uint32Array() };

/** The lists of buckets by their numbers, without those that have too many candidates. */
async function readLists(listPlan: ListPlan, grid: Grid, read: Read): Promise<ReadonlyMap<number, BucketList>> {
  const listPart = async ({ first, end }: Buckets) => {
    const part = partOf(grid, { first, end });
    const plans = listPlan.buckets.slice(first, end);
    const thresholds = plans.map(({ threshold }) => threshold);
    const highest = thresholds.reduce((most, threshold) => Math.max(most, threshold), 0);
    const blocks = await read(readSamples(grid.scopes.length), { ...part, highest, thresholds });
    await ownTurn();
    const lists: BucketList[] = [];
    let untilYield = CANDIDATES_PER_TURN;
    for (const list of listSamples(blocks, part, thresholds, MAX_IPS_PER_BUCKET)) {
      untilYield -= plans[lists.length]?.candidates ?? 0;
      lists.push(list);
      if (untilYield > 0) continue;
      untilYield = CANDIDATES_PER_TURN;
      await ownTurn();
    }
    return { first, lists };
  };
  const lists = new Map<number, BucketList>();
  for await (const part of inOrder(groupBuckets(listPlan), QUERIES_AT_ONCE, listPart)) {
    for (const [place, list] of part.lists.entries()) lists.set(part.first + place, list);
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
