import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { type ClassificationPlan, type CountsBySeverity, classifyWhole } from "./classification.ts";
import { segmentCount, segmentsOf } from "./hour-blocks.ts";
import { countPerBucket, countPerWideBucket, MAX_WIDE_BUCKETS, WHOLE_SLICE } from "./queries.ts";

/** From this width on, counting bits is faster than merging the sets of a bucket's hours. */
const MIN_WIDE_SECONDS = (17 * HOUR_MS) / 1_000;

/** Buckets of `width` from `start`, and the hours of them that are counted; times in seconds since 1970 UTC. */
export type Grid = { tag: string; scopes: Scope[]; from: number; end: number; start: number; width: number };
/** Distinct addresses by bucket, and perhaps of {@link WHOLE_SLICE}; without empty buckets. */
export type Counts = ReadonlyMap<number, number>;

/** Counts the addresses of each bucket. */
export async function countBuckets(grid: Grid, read: Read): Promise<Counts> {
  return toCounts(await (isWide(grid) ? countWideBuckets(grid, read) : read(countPerBucket, grid)));
}

/** @param most of the whole slice, up to so many addresses are listed, too. */
function countWideBuckets({ tag, scopes, from, end, start, width }: Grid, read: Read, most = 0) {
  const query = countPerWideBucket({
    buckets: bucketsIn({ start, end, width }),
    segments: segmentCount(width),
    most,
  });
  return read(query, { tag, scopes, from, end, ...segmentsOf({ from, end }, { start, width }) });
}

function toCounts(rows: readonly { readonly bucket: number; readonly active_ips: number }[]): Counts {
  return new Map(rows.map(({ bucket, active_ips }) => [bucket, active_ips]));
}

/** Whether the buckets are so wide that few of them cut a block and their bits fit. */
function isWide(grid: Grid): boolean {
  return grid.width >= MIN_WIDE_SECONDS && bucketsIn(grid) <= MAX_WIDE_BUCKETS;
}

const bucketsIn = ({ start, end, width }: Pick<Grid, "start" | "end" | "width">) => Math.ceil((end - start) / width);

/** Counts the addresses of the buckets, and those of the slice by severity: by one query, where that can do both. */
export async function countBucketsAndClasses(
  grid: Grid,
  plan: ClassificationPlan,
  read: Read,
): Promise<{ readonly counts: Counts; readonly bySeverity: CountsBySeverity }> {
  if (!isWide(grid) || (plan.sameForAll === undefined && plan.inMemory === undefined)) {
    const [counts, bySeverity] = await Promise.all([countBuckets(grid, read), plan.count(read)]);
    return { counts, bySeverity };
  }
  const rows = await countWideBuckets(grid, read, plan.inMemory?.most);
  const whole = rows.find(({ bucket }) => bucket === WHOLE_SLICE) ?? { active_ips: 0, addresses: "" };
  return { counts: toCounts(rows), bySeverity: await classifyWhole(whole, plan, read) };
}
