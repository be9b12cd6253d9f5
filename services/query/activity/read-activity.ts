import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { type Classification, INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { floorToHour, HOUR_MS, retentionStart, tile, type Window } from "@noisefloor/domain/time/window.ts";
import { listByBucket } from "../address-sets/list-by-bucket.ts";
import type { CountsBySeverity } from "../address-sets/severities.ts";
import { awaitedLater } from "../awaited-later.ts";
import { type ClassificationDeps, classifyWhole, planClassification } from "./classification.ts";
import { areWide, countBuckets } from "./count-buckets.ts";
import { countInProcess, MAX_IN_PROCESS, type MaxInProcess } from "./count-in-process.ts";
import { type ActivityBucket, listBuckets, MAX_IPS_PER_BUCKET } from "./list-buckets.ts";
import type { Refusals } from "./refusals.ts";

export type ActivityQuery = {
  readonly tag: Pick<Tag, "id" | "intention">;
  readonly scopes: readonly Scope[];
  readonly window: Window;
  readonly widthHours: number;
  readonly includeIps: boolean;
};

export type Activity = {
  /** How it is read; see {@link readTagActivity}. */
  readonly way: "rows" | "bits" | "sets";
  /** Ascending. */
  readonly buckets: AsyncIterable<ActivityBucket>;
  /** Counted while the buckets are listed. */
  readonly totals: Promise<ActivityTotals>;
};

export type ActivityTotals = {
  /** Distinct addresses in the window. */
  readonly totalIps: number;
  /** The same number by the classification of the addresses; without the classifications of none. */
  readonly byClassification: Partial<Record<Classification, number>>;
};

export type ActivityDeps = ClassificationDeps & {
  readonly refusals: Refusals;
  readonly read: Read;
  readonly retentionDays: () => number;
  readonly now: () => number;
  /** Of a tag with more, the store counts the addresses; {@link MAX_IN_PROCESS} by default. */
  readonly maxInProcess?: MaxInProcess | undefined;
};

/**
 * Counts, and optionally lists, the distinct addresses that a tag had in each bucket of a window, in one of three ways:
 * - `rows`: the rows of a small tag are read, and counted and listed in this process.
 * - `bits`: the store counts wide buckets by the bits of each address.
 * - `sets`: the store merges the sets of the hours of narrow buckets.
 * With `bits` and `sets`, lists come from the rows under a hash threshold, and the totals are counted meanwhile.
 */
export async function readTagActivity(
  query: ActivityQuery,
  deps: ActivityDeps,
  signal: AbortSignal,
): Promise<Activity> {
  const since = retentionStart(deps.now(), deps.retentionDays());
  const slice = {
    tag: query.tag.id,
    scopes: [...query.scopes],
    from: Math.max(query.window.start, floorToHour(since)) / 1_000,
    end: query.window.end / 1_000,
  };
  const windows = tile(query.window, query.widthHours);
  const grid = { ...slice, start: query.window.start / 1_000, width: (query.widthHours * HOUR_MS) / 1_000 };
  const read: Read = (definition, params) => deps.read(definition, params, signal);

  const plan = await planClassification({ ...slice, tag: query.tag, since }, deps);
  const { maxInProcess: max = MAX_IN_PROCESS, refusals } = deps;
  const counted = await countInProcess(grid, windows.length, { max, refusals }, read);
  if (counted !== undefined) {
    const { bits, counts } = counted;
    const { addresses } = bits;
    const bySeverity = await classifyWhole({ total: addresses.length, addresses }, plan, read);
    const lists = query.includeIps ? await listByBucket(bits, counts, MAX_IPS_PER_BUCKET) : [];
    return { way: "rows", buckets: toBuckets(windows, counts, lists), totals: Promise.resolve(totalsOf(bySeverity)) };
  }
  const counting = awaitedLater(countBuckets(grid, windows.length, read));
  const totals = awaitedLater(plan.count(read).then(totalsOf));
  const buckets = async function* () {
    const counts = await counting;
    yield* query.includeIps ? listBuckets(windows, grid, counts, read) : toBuckets(windows, counts, []);
  };
  return { way: areWide(grid, windows.length) ? "bits" : "sets", buckets: buckets(), totals };
}

function totalsOf(bySeverity: CountsBySeverity): ActivityTotals {
  const byClassification: Partial<Record<Classification, number>> = {};
  let totalIps = 0;
  for (const [severity, addresses] of bySeverity) {
    if (addresses > 0) byClassification[INTENTIONS[severity] ?? "unknown"] = addresses;
    totalIps += addresses;
  }
  return { totalIps, byClassification };
}

const NO_IPS = new Uint32Array();

async function* toBuckets(
  windows: readonly Window[],
  counts: Uint32Array,
  lists: readonly Uint32Array[],
): AsyncGenerator<ActivityBucket> {
  for (const [bucket, window] of windows.entries()) {
    yield { ...window, activeIps: counts[bucket] ?? 0, ips: lists[bucket] ?? NO_IPS };
  }
}
