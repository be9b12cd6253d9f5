import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { ownTurn } from "@noisefloor/domain/time/own-turn.ts";
import type { Window } from "@noisefloor/domain/time/window.ts";
import { inOrder } from "../in-order.ts";
import { type Counts, countBands, countBuckets, type Grid, wideBuckets } from "./count-buckets.ts";
import type { MostInProcess } from "./count-in-process.ts";
import { type Buckets, groupBuckets } from "./group-buckets.ts";
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
const GROUPS_AT_ONCE = 2;

export type ActivityBucket = Window & {
  /** Distinct addresses in the bucket, an exact count. */
  readonly activeIps: number;
  /** All of them, or a uniform sample of {@link MAX_IPS_PER_BUCKET}, ascending; none without `includeIps`. */
  readonly ips: Uint32Array;
};

/** What the groups of buckets of one answer share. */
type ListContext = {
  readonly plans: readonly BucketPlan[];
  /** Whether one query over `tag_addresses` counts all buckets; else each group counts its own in `tag_samples`. */
  readonly areWide: boolean;
  /** A query reads so many candidates at most, and so many of one bucket. Of a larger bucket, the store picks them. */
  readonly mostPerQuery: number;
  readonly mostPerBucket: number;
  readonly grid: Grid;
  readonly read: Read;
};

/**
 * Counts the addresses of each bucket and lists them, in groups: while the caller handles the buckets of one, the store
 * works on the next ones.
 */
export async function* listBuckets(
  windows: readonly Window[],
  grid: Grid,
  most: Pick<MostInProcess, "candidates" | "candidatesPerBucket">,
  read: Read,
): AsyncGenerator<ActivityBucket, void, void> {
  // How many addresses the rows of buckets have: that says which of them to read, and counts many buckets.
  const sizes = await read(readSampleSizes(grid.scopes.length), grid);
  const context: ListContext = {
    plans: planSamples(sizes, windows, MAX_IPS_PER_BUCKET),
    areWide: wideBuckets(grid) !== undefined,
    mostPerQuery: most.candidates,
    mostPerBucket: Math.min(most.candidates, most.candidatesPerBucket),
    grid,
    read,
  };
  const countingAll = context.areWide ? countOthers({ first: 0, end: windows.length }, context) : undefined;
  const readGroup = (group: Buckets) =>
    Promise.all([group, readLists(group, context), countingAll ?? countOthers(group, context)]);
  const groups = groupBuckets(
    context.plans.map(({ candidates }) => candidates),
    { ...context, groupsAtOnce: GROUPS_AT_ONCE, few: CANDIDATES_PER_TURN },
  );
  for await (const [{ first }, lists, counts] of inOrder(groups, GROUPS_AT_ONCE, readGroup)) {
    for (const [place, list] of lists.entries()) {
      yield await toActivity(first + place, list, counts.get(first + place) ?? 0, context);
    }
  }
}

/** Whether all addresses of a bucket are read, so that its list counts them. */
function isWhole({ threshold, candidates }: BucketPlan, { mostPerBucket }: ListContext): boolean {
  return threshold === HIGHEST_HASH && candidates <= mostPerBucket;
}

/**
 * Counts the buckets that neither the sizes of their rows nor their lists count, and those between them: wide ones as a
 * whole, and of narrow ones the addresses with higher hash values than those that are read for the lists.
 */
async function countOthers({ first, end }: Buckets, context: ListContext): Promise<Counts> {
  const { plans, areWide, mostPerBucket, grid, read } = context;
  const isOther = (plan: BucketPlan) =>
    plan.count === undefined && !isWhole(plan, context) && (areWide || plan.candidates <= mostPerBucket);
  const group = plans.slice(first, end);
  const from = group.findIndex(isOther);
  if (from < 0) return new Map();
  const others = group.slice(from, group.findLastIndex(isOther) + 1);
  const part = partOf(grid, { first: first + from, end: first + from + others.length });
  // From the highest value on there is no band: of a bucket between others that is read whole, nothing is counted.
  const lowest = others.map(({ threshold }) => Math.min(threshold + 1, HIGHEST_HASH));
  const counts = await (areWide ? countBuckets(part, read) : countBands(part, lowest, read));
  return new Map([...counts].map(([bucket, count]) => [first + from + bucket, count]));
}

const NOT_LISTED: BucketList = { found: 0, ips: new Uint32Array() };

/** Lists the buckets of a group; one with too many candidates, which is alone in it, gets an empty list. */
async function readLists({ first, end }: Buckets, context: ListContext): Promise<BucketList[]> {
  const { plans, areWide, mostPerBucket, grid, read } = context;
  const group = plans.slice(first, end);
  if (group.some(({ candidates }) => candidates > mostPerBucket)) return group.map(() => NOT_LISTED);
  const part = partOf(grid, { first, end });
  const thresholds = group.map(({ threshold }) => threshold);
  const highest = thresholds.reduce((most, threshold) => Math.max(most, threshold), 0);
  const blocks = await read(readSamples(grid.scopes.length), { ...part, highest, thresholds });
  await ownTurn();
  const enough = group.map((plan) => (areWide && !isWhole(plan, context) ? MAX_IPS_PER_BUCKET : Infinity));
  const lists: BucketList[] = [];
  let untilYield = CANDIDATES_PER_TURN;
  for (const list of listSamples(blocks, part, enough, MAX_IPS_PER_BUCKET)) {
    untilYield -= group[lists.length]?.candidates ?? 0;
    lists.push(list);
    if (untilYield > 0) continue;
    untilYield = CANDIDATES_PER_TURN;
    await ownTurn();
  }
  return lists;
}

/** @param counted what {@link countOthers} has counted of the bucket. */
async function toActivity(
  bucket: number,
  list: BucketList,
  counted: number,
  context: ListContext,
): Promise<ActivityBucket> {
  const plan = context.plans[bucket];
  if (plan === undefined) throw new RangeError(`no bucket has the number ${bucket}`);
  if (isWhole(plan, context)) return { ...plan.window, activeIps: list.found, ips: list.ips };
  const own = partOf(context.grid, { first: bucket, end: bucket + 1 });
  // Fewer than planned are found where rows have been replaced since.
  const isListed = list.found >= MAX_IPS_PER_BUCKET;
  const ips = isListed ? list.ips : await readLowest(own, context.read);
  const found = isListed ? list.found : ips.length;
  if (found < MAX_IPS_PER_BUCKET) return { ...plan.window, activeIps: found, ips };
  const total = context.areWide ? counted : list.found + counted;
  const known = isListed || context.areWide ? (plan.count ?? total) : 0;
  // Observations may have arrived since it was counted.
  const activeIps = known >= found ? known : Math.max(found, (await countBuckets(own, context.read)).get(0) ?? 0);
  return { ...plan.window, activeIps, ips };
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
