import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { type Classification, INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { floorToHour, HOUR_MS, retentionStart, tile, type Window } from "@noisefloor/domain/time/window.ts";
import { awaitedLater } from "../awaited-later.ts";
import { type ClassificationDeps, classifyWhole, planClassification } from "./classification.ts";
import { type Counts, countBuckets } from "./count-buckets.ts";
import { countInProcess, MOST_IN_PROCESS, type MostInProcess } from "./count-in-process.ts";
import { type ActivityBucket, listBuckets, MAX_IPS_PER_BUCKET } from "./list-buckets.ts";
import type { CountsBySeverity } from "./worst-severities.ts";

export type ActivityQuery = {
  readonly tag: Pick<Tag, "id" | "intention">;
  readonly scopes: readonly Scope[];
  readonly window: Window;
  readonly widthHours: number;
  readonly includeIps: boolean;
};

export type Activity = {
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
  readonly read: Read;
  readonly retentionDays: () => number;
  readonly now: () => number;
  /** Of a tag with more, the store counts the addresses; {@link MOST_IN_PROCESS} by default. */
  readonly mostInProcess?: MostInProcess | undefined;
};

/** Counts, and optionally lists, the distinct addresses that a tag had in each bucket of a window. */
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
  const { mostInProcess: most = MOST_IN_PROCESS, refusals } = deps;
  const counted = await countInProcess(grid, windows.length, { most, refusals }, read);
  if (counted !== undefined) {
    const { addresses } = counted;
    const bySeverity = await classifyWhole({ total: addresses.length, addresses }, plan, read);
    const lists = query.includeIps ? await counted.list(MAX_IPS_PER_BUCKET) : [];
    return { buckets: toBuckets(windows, counted.counts, lists), totals: Promise.resolve(totalsOf(bySeverity)) };
  }
  // Beside others a query has one thread. Without lists, counting takes longer than the totals and begins before them;
  // with lists, these begin first, as the sizes of rows have to be read before anything is counted.
  const counting = query.includeIps ? undefined : awaitedLater(countBuckets(grid, read));
  const totals = awaitedLater(plan.count(read).then(totalsOf));
  const buckets = counting ? countedBuckets(windows, counting) : listBuckets(windows, grid, most, read);
  return { buckets, totals };
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

async function* countedBuckets(windows: readonly Window[], counting: Promise<Counts>): AsyncGenerator<ActivityBucket> {
  const counts = await counting;
  yield* toBuckets(
    windows,
    Uint32Array.from(windows, (_, bucket) => counts.get(bucket) ?? 0),
    [],
  );
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
