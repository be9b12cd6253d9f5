import type { Read } from "@noisefloor/clickhouse/query.ts";
import { type Classification, INTENTIONS } from "@noisefloor/domain/classification.ts";
import type { DataRoom } from "@noisefloor/domain/scope.ts";
import { floorToHour, HOUR_MS, retentionStart, tile, type Window } from "@noisefloor/domain/window.ts";
import { countByClassification, countPerBucket, samplePerBucket } from "./queries/tag-activity.ts";

/** SPEC, Limits: IP addresses per bucket. */
export const MAX_IPS_PER_BUCKET = 1_000;

export type ActivityQuestion = {
  readonly tagId: string;
  readonly rooms: readonly DataRoom[];
  readonly window: Window;
  readonly widthHours: number;
  readonly includeIps: boolean;
};

export type ActivityBucket = Window & {
  /** Distinct addresses in the bucket, exactly. */
  readonly activeIps: number;
  /** All of them, or a uniform sample of {@link MAX_IPS_PER_BUCKET}; ascending. Empty unless asked for. */
  readonly ips: readonly string[];
};

export type Activity = {
  readonly buckets: readonly ActivityBucket[];
  /** Distinct addresses in the window. */
  readonly totalIps: number;
  /** The same by the addresses' own classification; classes without any are absent. */
  readonly byClassification: Partial<Record<Classification, number>>;
};

export type ActivityDeps = {
  readonly read: Read;
  readonly retentionDays: () => number;
  readonly now: () => number;
};

/** How often a question is asked again when new data arrive between counting and listing. */
const MAX_ATTEMPTS = 4;
const HIGHEST_HASH = 0xffff_ffff;

/** Answers how many, and which, distinct addresses a tag had in each bucket of a window. */
export async function tagActivity(
  question: ActivityQuestion,
  deps: ActivityDeps,
  signal: AbortSignal,
): Promise<Activity> {
  const since = retentionStart(deps.now(), deps.retentionDays());
  const slice = {
    tag: question.tagId,
    rooms: [...question.rooms],
    from: Math.max(question.window.start, floorToHour(since)) / 1_000,
    end: question.window.end / 1_000,
  };
  const grid = { start: question.window.start / 1_000, width: (question.widthHours * HOUR_MS) / 1_000 };
  const windows = tile(question.window, question.widthHours);
  const read: Read = (definition, params) => deps.read(definition, params, signal);

  const classesAsked = read(countByClassification, { ...slice, since });
  const bucketsAsked = countAndList(question.includeIps, windows, { ...slice, ...grid }, read);
  const [classes, buckets] = await Promise.all([classesAsked, bucketsAsked]);

  const byClassification: Partial<Record<Classification, number>> = {};
  let totalIps = 0;
  for (const { severity, addresses } of classes) {
    byClassification[INTENTIONS[severity] ?? "unknown"] = addresses;
    totalIps += addresses;
  }
  return { buckets, totalIps, byClassification };
}

type Grid = { tag: string; rooms: DataRoom[]; from: number; end: number; start: number; width: number };

/**
 * Counts and, if wanted, lists. The two are separate queries and data may arrive between them. A list below the cap is
 * the whole set, so its own length is its bucket's count; a bucket that grew past the cap in between is asked again.
 */
async function countAndList(
  includeIps: boolean,
  windows: readonly Window[],
  grid: Grid,
  read: Read,
): Promise<ActivityBucket[]> {
  for (let attempt = 1; ; attempt++) {
    const counts = new Map((await read(countPerBucket, grid)).map((row) => [row.bucket, row.active_ips]));
    const countOf = (bucket: number) => counts.get(bucket) ?? 0;
    if (!includeIps) return windows.map((window, bucket) => ({ ...window, activeIps: countOf(bucket), ips: [] }));

    const lists = await sample(counts, windows.length, grid, read);
    const hasOutgrown = [...lists].some(([bucket, { found }]) => found > MAX_IPS_PER_BUCKET && countOf(bucket) < found);
    if (hasOutgrown && attempt < MAX_ATTEMPTS) continue;
    return windows.map((window, bucket) => {
      const ips = lists.get(bucket)?.ips ?? [];
      const activeIps = ips.length < MAX_IPS_PER_BUCKET ? ips.length : Math.max(ips.length, countOf(bucket));
      return { ...window, activeIps, ips };
    });
  }
}

type Listed = { readonly found: number; readonly ips: readonly string[] };

/**
 * The addresses of each bucket, or a uniform sample of those with more than the cap: the addresses with the lowest
 * hash values. Rows above a threshold are not even looked at; it is chosen so that about 1,150 addresses lie below it,
 * and doubled for a bucket that still came up short.
 */
async function sample(
  counts: ReadonlyMap<number, number>,
  buckets: number,
  grid: Grid,
  read: Read,
): Promise<Map<number, Listed>> {
  const lists = new Map<number, Listed>();
  const query = samplePerBucket(MAX_IPS_PER_BUCKET);
  let asked = new Map(
    Array.from({ length: buckets }, (_, bucket) => [bucket, firstThreshold(counts.get(bucket) ?? 0)]),
  );
  while (asked.size > 0) {
    const thresholds = Array.from({ length: buckets }, (_, bucket) => asked.get(bucket) ?? 0);
    for (const row of await read(query, { ...grid, thresholds })) {
      // A bucket that is complete already has the threshold 0 here, below which lies at most the hash 0.
      if (asked.has(row.bucket)) lists.set(row.bucket, row);
    }
    const short = [...asked].filter(
      ([bucket, threshold]) => threshold < HIGHEST_HASH && (lists.get(bucket)?.found ?? 0) < MAX_IPS_PER_BUCKET,
    );
    asked = new Map(short.map(([bucket, threshold]) => [bucket, Math.min(HIGHEST_HASH, threshold * 2)]));
  }
  return lists;
}

function firstThreshold(count: number): number {
  if (count <= MAX_IPS_PER_BUCKET) return HIGHEST_HASH;
  const wanted = MAX_IPS_PER_BUCKET + 5 * Math.sqrt(MAX_IPS_PER_BUCKET);
  return Math.min(HIGHEST_HASH, Math.ceil((HIGHEST_HASH * wanted) / count));
}
