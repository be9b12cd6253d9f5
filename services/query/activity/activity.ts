import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { type Classification, INTENTIONS } from "@noisefloor/domain/classification.ts";
import type { Scope } from "@noisefloor/domain/scope.ts";
import { floorToHour, HOUR_MS, retentionStart, tile, type Window } from "@noisefloor/domain/window.ts";
import { countByClassification, countPerBucket, samplePerBucket } from "./queries.ts";

/** SPEC, Limits: IP addresses per bucket. */
export const MAX_IPS_PER_BUCKET = 1_000;

export type ActivityQuestion = {
  readonly tagId: string;
  readonly scopes: readonly Scope[];
  readonly window: Window;
  readonly widthHours: number;
  readonly includeIps: boolean;
};

export type ActivityBucket = Window & {
  /** Distinct addresses in the bucket, exactly. */
  readonly activeIps: number;
  /** All of them, or a uniform sample of {@link MAX_IPS_PER_BUCKET}; ascending, separated by commas. */
  readonly ips: string;
  /** How many that are; 0 unless asked for. */
  readonly listedIps: number;
};

export type Activity = {
  /** In their order. With addresses a few at a time are read: all of them can be tens of megabytes. */
  readonly buckets: AsyncIterable<ActivityBucket>;
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
/** So many addresses are listed by one query, whose answer is parsed in one go: some 700 kB. */
const MAX_IPS_PER_QUERY = 50_000;
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
    scopes: [...question.scopes],
    from: Math.max(question.window.start, floorToHour(since)) / 1_000,
    end: question.window.end / 1_000,
  };
  const windows = tile(question.window, question.widthHours);
  const grid = { ...slice, start: question.window.start / 1_000, width: (question.widthHours * HOUR_MS) / 1_000 };
  const read: Read = (definition, params) => deps.read(definition, params, signal);

  const [classes, counts] = await Promise.all([
    read(countByClassification, { ...slice, since }),
    countBuckets(grid, read),
  ]);
  const byClassification: Partial<Record<Classification, number>> = {};
  let totalIps = 0;
  for (const { severity, addresses } of classes) {
    byClassification[INTENTIONS[severity] ?? "unknown"] = addresses;
    totalIps += addresses;
  }
  const buckets = question.includeIps ? listBuckets(windows, counts, grid, read) : withoutIps(windows, counts);
  return { buckets, totalIps, byClassification };
}

type Grid = { tag: string; scopes: Scope[]; from: number; end: number; start: number; width: number };
/** Distinct addresses by bucket; buckets without any are absent. */
type Counts = ReadonlyMap<number, number>;

async function countBuckets(grid: Grid, read: Read): Promise<Counts> {
  return new Map((await read(countPerBucket, grid)).map((row) => [row.bucket, row.active_ips]));
}

async function* withoutIps(windows: readonly Window[], counts: Counts): AsyncGenerator<ActivityBucket> {
  for (const [bucket, window] of windows.entries())
    yield { ...window, activeIps: counts.get(bucket) ?? 0, ips: "", listedIps: 0 };
}

/** Lists a few buckets at a time. */
async function* listBuckets(
  windows: readonly Window[],
  counts: Counts,
  grid: Grid,
  read: Read,
): AsyncGenerator<ActivityBucket> {
  for (let first = 0; first < windows.length; ) {
    let behind = first;
    for (let ips = 0; behind < windows.length; behind++) {
      ips += Math.min(MAX_IPS_PER_BUCKET, counts.get(behind) ?? 0);
      if (ips > MAX_IPS_PER_QUERY && behind > first) break;
    }
    yield* await countAndList(
      windows.slice(first, behind),
      shift(counts, first, behind),
      narrow(grid, first, behind),
      read,
    );
    first = behind;
  }
}

/** The part of a grid from one bucket up to another, whose first bucket is its number 0. */
function narrow(grid: Grid, first: number, behind: number): Grid {
  const start = grid.start + first * grid.width;
  const end = Math.min(grid.end, grid.start + behind * grid.width);
  return { ...grid, start, from: Math.max(grid.from, start), end };
}

function shift(counts: Counts, first: number, behind: number): Counts {
  return new Map(
    [...counts].flatMap(([bucket, count]) => (bucket < first || bucket >= behind ? [] : [[bucket - first, count]])),
  );
}

/**
 * Lists buckets that were counted. The two are separate queries and data may arrive between them. A list below the cap is
 * the whole set, so its own length is its bucket's count; when a bucket grew past the cap in between, all are asked again.
 */
async function countAndList(
  windows: readonly Window[],
  counted: Counts,
  grid: Grid,
  read: Read,
): Promise<ActivityBucket[]> {
  let counts = counted;
  for (let attempt = 1; ; attempt++) {
    const countOf = (bucket: number) => counts.get(bucket) ?? 0;
    const lists = await sample(counts, windows.length, grid, read);
    const hasOutgrown = [...lists].some(([bucket, { found }]) => found > MAX_IPS_PER_BUCKET && countOf(bucket) < found);
    if (hasOutgrown && attempt < MAX_ATTEMPTS) {
      counts = await countBuckets(grid, read);
      continue;
    }
    return windows.map((window, bucket) => {
      const { ips, found } = lists.get(bucket) ?? { ips: "", found: 0 };
      const listedIps = Math.min(found, MAX_IPS_PER_BUCKET);
      const activeIps = listedIps < MAX_IPS_PER_BUCKET ? listedIps : Math.max(listedIps, countOf(bucket));
      return { ...window, activeIps, ips, listedIps };
    });
  }
}

type Listed = { readonly found: number; readonly ips: string };

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
