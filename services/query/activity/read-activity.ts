import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { type Classification, INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { floorToHour, HOUR_MS, retentionStart, tile, type Window } from "@noisefloor/domain/time/window.ts";
import { type ClassificationDeps, type CountsBySeverity, planClassification } from "./classification.ts";
import { type Counts, countBucketsAndClasses } from "./count-buckets.ts";
import { type ActivityBucket, listBuckets } from "./list-buckets.ts";
import { listFew, maxRowsAtOnce } from "./list-few.ts";

export type ActivityQuery = {
  readonly tag: Pick<Tag, "id" | "intention">;
  readonly scopes: readonly Scope[];
  readonly window: Window;
  readonly widthHours: number;
  readonly includeIps: boolean;
};

export type Activity = {
  /** Ascending. With addresses, buckets are read a few at a time: together they can have tens of megabytes. */
  readonly buckets: AsyncIterable<ActivityBucket>;
  /** Distinct addresses in the window. */
  readonly totalIps: number;
  /** The same number by the classification of the addresses; without the classifications of none. */
  readonly byClassification: Partial<Record<Classification, number>>;
};

export type ActivityDeps = ClassificationDeps & {
  readonly read: Read;
  readonly retentionDays: () => number;
  readonly now: () => number;
  /** With more rows of a tag, buckets are counted before addresses are listed; {@link maxRowsAtOnce} by default. */
  readonly maxRowsAtOnce?: number | undefined;
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
  if (query.includeIps) {
    const maxRows = deps.maxRowsAtOnce ?? maxRowsAtOnce(windows.length, grid.width);
    const few = await listFew(windows, grid, maxRows, plan, read);
    if (few !== undefined) return { buckets: few.buckets, ...totalsOf(few.bySeverity) };
  }
  const { counts, bySeverity } = await countBucketsAndClasses(grid, plan, read);
  const buckets = query.includeIps ? listBuckets(windows, counts, grid, read) : withoutIps(windows, counts);
  return { buckets, ...totalsOf(bySeverity) };
}

function totalsOf(bySeverity: CountsBySeverity): Pick<Activity, "totalIps" | "byClassification"> {
  const byClassification: Partial<Record<Classification, number>> = {};
  let totalIps = 0;
  for (const [severity, addresses] of bySeverity) {
    if (addresses > 0) byClassification[INTENTIONS[severity] ?? "unknown"] = addresses;
    totalIps += addresses;
  }
  return { totalIps, byClassification };
}

const NO_IPS = new Uint32Array();

async function* withoutIps(windows: readonly Window[], counts: Counts): AsyncGenerator<ActivityBucket> {
  for (const [bucket, window] of windows.entries())
    yield { ...window, activeIps: counts.get(bucket) ?? 0, ips: NO_IPS };
}
