import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { ownTurn } from "@noisefloor/domain/time/own-turn.ts";
import type { Window } from "@noisefloor/domain/time/window.ts";
import { awaitedLater } from "../awaited-later.ts";
import { inOrder } from "../in-order.ts";
import { type Counts, countBands, countBuckets, type Grid, wideBuckets } from "./count-buckets.ts";
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

/** What lists buckets. */
type Lister = {
  readonly plans: readonly BucketPlan[];
  /** Whether all buckets are counted by one question about each address, and not from their bands of hash values. */
  readonly areWide: boolean;
  /** A query reads so many addresses at most. Of a bucket with more, the store picks those that it lists. */
  readonly maxCandidates: number;
  readonly grid: Grid;
  readonly read: Read;
};

/**
 * Counts the addresses of each bucket and lists them, some buckets at once: the caller has those before while the store
 * works on further ones.
 */
export async function* listBuckets(
  windows: readonly Window[],
  grid: Grid,
  maxCandidates: number,
  read: Read,
): AsyncGenerator<ActivityBucket, void, void> {
  // How many addresses the rows of buckets have: that says which of them to read, and counts many buckets.
  const sizes = await read(readSampleSizes(grid.scopes.length), grid);
  const lister: Lister = {
    plans: planSamples(sizes, windows, MAX_IPS_PER_BUCKET),
    areWide: wideBuckets(grid) !== undefined,
    maxCandidates,
    grid,
    read,
  };
  const countingAll = lister.areWide ? awaitedLater(countOthers({ first: 0, end: windows.length }, lister)) : undefined;
  const readGroup = (group: Buckets) =>
    Promise.all([group, readLists(group, lister), countingAll ?? countOthers(group, lister)]);
  for await (const [{ first }, lists, counts] of inOrder(groupBuckets(lister), GROUPS_AT_ONCE, readGroup)) {
    for (const [place, list] of lists.entries()) {
      const counted = counts.get(first + place) ?? 0;
      yield await toActivity(first + place, list, lister.areWide ? counted : list.found + counted, lister);
    }
  }
}

/** Whether all addresses of a bucket are read, so that they need not be counted before. */
function isWhole({ threshold, candidates }: BucketPlan, { maxCandidates }: Lister): boolean {
  return threshold === HIGHEST_HASH && candidates <= maxCandidates;
}

/** Whether a bucket has to be counted: neither the sizes of its rows nor its list say how many addresses it has. */
function isUncounted(plan: BucketPlan, lister: Lister): boolean {
  return plan.count === undefined && !isWhole(plan, lister);
}

/** Counts buckets, or of narrow ones the addresses with higher hash values than those that are read for the list. */
async function countOthers({ first, end }: Buckets, lister: Lister): Promise<Counts> {
  const { plans, areWide, maxCandidates, grid, read } = lister;
  const isOther = (plan: BucketPlan) => isUncounted(plan, lister) && (areWide || plan.candidates <= maxCandidates);
  const group = plans.slice(first, end);
  const from = group.findIndex(isOther);
  if (from < 0) return new Map();
  const others = group.slice(from, group.findLastIndex(isOther) + 1);
  const part = partOf(grid, { first: first + from, end: first + from + others.length });
  const above = others.map(({ threshold }) => Math.min(threshold + 1, HIGHEST_HASH));
  const counts = await (areWide ? countBuckets(part, read) : countBands(part, above, read));
  return new Map([...counts].map(([bucket, count]) => [first + from + bucket, count]));
}

/** Neighbouring buckets: the number of the first one, and of the first after them. */
type Buckets = { readonly first: number; readonly end: number };

/**
 * Groups buckets that a query reads together; one that has too many candidates is alone. The groups have about as many
 * candidates each, so that those that the store works on at once take equally long.
 */
function* groupBuckets({ plans, maxCandidates }: Lister): Generator<Buckets> {
  const all = plans.reduce((sum, { candidates }) => sum + Math.min(candidates, maxCandidates), 0);
  const areFew = all <= CANDIDATES_PER_TURN;
  const perGroup = areFew ? all : all / (GROUPS_AT_ONCE * Math.ceil(all / (GROUPS_AT_ONCE * maxCandidates)));
  let [first, together] = [0, 0];
  for (const [bucket, { candidates }] of plans.entries()) {
    const isFull = together + candidates > maxCandidates || together + candidates / 2 > perGroup;
    if (bucket > first && isFull) {
      yield { first, end: bucket };
      [first, together] = [bucket, 0];
    }
    together += candidates;
  }
  if (plans.length > first) yield { first, end: plans.length };
}

const NOT_LISTED: BucketList = { found: 0, ips: new Uint32Array() };

/** Lists the buckets of a group, but for one with too many candidates. */
async function readLists({ first, end }: Buckets, lister: Lister): Promise<BucketList[]> {
  const { plans, areWide, maxCandidates, grid, read } = lister;
  const group = plans.slice(first, end);
  if (group.some(({ candidates }) => candidates > maxCandidates)) return [NOT_LISTED];
  const part = partOf(grid, { first, end });
  const thresholds = group.map(({ threshold }) => threshold);
  const highest = thresholds.reduce((most, threshold) => Math.max(most, threshold), 0);
  const blocks = await read(readSamples(grid.scopes.length), { ...part, highest, thresholds });
  await ownTurn();
  const enough = group.map((plan) => (areWide && !isWhole(plan, lister) ? MAX_IPS_PER_BUCKET : Infinity));
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

/** @param counted how many addresses the bucket had when it was counted, if its plan does not say it. */
async function toActivity(bucket: number, list: BucketList, counted: number, lister: Lister): Promise<ActivityBucket> {
  const plan = lister.plans[bucket];
  if (plan === undefined) throw new RangeError(`no bucket has the number ${bucket}`);
  if (isWhole(plan, lister)) return { ...plan.window, activeIps: list.found, ips: list.ips };
  const own = partOf(lister.grid, { first: bucket, end: bucket + 1 });
  // Fewer than planned are found where rows have been replaced since.
  const isListed = list.found >= MAX_IPS_PER_BUCKET;
  const ips = isListed ? list.ips : await readLowest(own, lister.read);
  const found = isListed ? list.found : ips.length;
  if (found < MAX_IPS_PER_BUCKET) return { ...plan.window, activeIps: found, ips };
  const known = plan.count ?? (isListed || lister.areWide ? counted : 0);
  // Observations may have arrived since it was counted.
  const activeIps = known >= found ? known : Math.max(found, (await countBuckets(own, lister.read)).get(0) ?? 0);
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
