import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { type Classification, INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { floorToHour, HOUR_MS, retentionStart, tile, type Window } from "@noisefloor/domain/time/window.ts";
import { listByBucket } from "../address-sets/list-by-bucket.ts";
import type { CountsBySeverity } from "../address-sets/severities.ts";
import { awaitedLater } from "../in-order.ts";
import { type ClassificationDeps, classifyActive } from "./classification.ts";
import { areWide, countInStore, countRows, MAX_IN_PROCESS, type MaxInProcess, type TooLarge } from "./count.ts";
import { type ActivityBucket, listBuckets, MAX_IPS_PER_BUCKET } from "./list-buckets.ts";

export type ActivityQuery = {
  readonly tag: Pick<Tag, "id" | "intention">;
  readonly scopes: readonly Scope[];
  readonly window: Window;
  readonly widthHours: number;
  readonly includeIps: boolean;
};

export type Activity = {
  /** How its buckets are counted; see {@link readTagActivity}. */
  readonly way: "rows" | "bits" | "sets";
  /** Ascending. */
  readonly buckets: AsyncIterable<ActivityBucket>;
  /** Counted while the buckets are listed. */
  readonly totals: Promise<ActivityTotals>;
};

export type ActivityTotals = {
  /** Distinct addresses in the window. */
  readonly totalIps: number;
  /** The same number by the classification of the addresses, without those that no address has. */
  readonly byClassification: Partial<Record<Classification, number>>;
};

export type ActivityDeps = ClassificationDeps & {
  readonly read: Read;
  readonly retentionDays: () => number;
  readonly now: () => number;
  /** The store counts the addresses of a tag with more; {@link MAX_IN_PROCESS} by default. */
  readonly maxInProcess?: MaxInProcess | undefined;
  readonly tooLarge: TooLarge;
};

/**
 * Counts, and optionally lists, the distinct addresses that a tag had in each bucket of a window, in one of three ways:
 * - `rows`: the rows of a small tag are read, and counted and listed in this process.
 * - `bits`: the store counts wide buckets by the bits of each address.
 * - `sets`: the store merges the sets of the hours of narrow buckets.
 * With `bits` and `sets`, lists come from the rows under a hash threshold, and the totals are counted meanwhile. For
 * how all addresses are classified see {@link classifyActive}.
 */
export async function readTagActivity(
  query: ActivityQuery,
  deps: ActivityDeps,
  signal: AbortSignal,
): Promise<Activity> {
  const since = retentionStart(deps.now(), deps.retentionDays());
  const windows = tile(query.window, query.widthHours);
  const grid = {
    tag: query.tag.id,
    scopes: [...query.scopes],
    from: Math.max(query.window.start, floorToHour(since)) / 1_000,
    end: query.window.end / 1_000,
    start: query.window.start / 1_000,
    width: (query.widthHours * HOUR_MS) / 1_000,
    buckets: windows.length,
  };
  const read: Read = (definition, params) => deps.read(definition, params, signal);
  const classify = async (known?: Uint32Array) =>
    totalsOf(await classifyActive({ ...grid, tag: query.tag, since }, known, deps, read));

  const { maxInProcess: max = MAX_IN_PROCESS, tooLarge } = deps;
  const counted = await countRows(grid, { max, tooLarge, read });
  if (counted !== undefined) {
    const totals = awaitedLater(classify(counted.bits.addresses));
    const lists = query.includeIps ? await listByBucket(counted.bits, counted.counts, MAX_IPS_PER_BUCKET) : [];
    return { way: "rows", buckets: toBuckets(windows, counted.counts, lists), totals };
  }
  const counting = awaitedLater(countInStore(grid, read));
  const totals = awaitedLater(classify());
  const buckets = async function* () {
    const counts = await counting;
    yield* query.includeIps ? listBuckets(windows, grid, counts, read) : toBuckets(windows, counts, []);
  };
  return { way: areWide(grid) ? "bits" : "sets", buckets: buckets(), totals };
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
