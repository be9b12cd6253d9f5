import { isRefused } from "@noisefloor/clickhouse/client/errors.ts";
import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Window } from "@noisefloor/domain/time/window.ts";
import { type ClassificationPlan, type CountsBySeverity, classifyWhole } from "./classification.ts";
import type { Grid } from "./count-buckets.ts";
import { blocksOf, segmentCount } from "./hour-blocks.ts";
import { type ActivityBucket, MAX_IPS_PER_BUCKET, MAX_IPS_PER_QUERY } from "./list-buckets.ts";
import { decodeAddresses } from "./listed-addresses.ts";
import { listPerBucket, WHOLE_SLICE } from "./queries.ts";

/** The pairs of an address and a bucket that a query sorts at once. For more, counting first and sampling is faster. */
const MAX_PAIRS = 1_500_000;

/** So many rows have no more than {@link MAX_PAIRS}, nor more addresses to list than one answer should have. */
export function maxRowsAtOnce(buckets: number, width: number): number {
  // The whole slice is a bucket, too.
  const perRow = segmentCount(width) + 1;
  const pairs = buckets * MAX_IPS_PER_BUCKET > MAX_IPS_PER_QUERY ? MAX_IPS_PER_QUERY : MAX_PAIRS;
  return Math.max(1, Math.floor(pairs / perRow));
}

/**
 * Counts and lists all buckets by one query instead of three, as far as one is enough for the classification, too.
 * @returns undefined when the tag has more than `maxRows` rows.
 */
export async function listFew(
  windows: readonly Window[],
  grid: Grid,
  maxRows: number,
  plan: ClassificationPlan,
  read: Read,
): Promise<{ readonly buckets: AsyncIterable<ActivityBucket>; readonly bySeverity: CountsBySeverity } | undefined> {
  const query = listPerBucket({ cap: MAX_IPS_PER_BUCKET, most: plan.inMemory?.most ?? 0, maxRows });
  const rows = await read(query, { ...grid, ...blocksOf(grid) }).catch((error: unknown) => {
    if (isRefused(error)) return undefined;
    throw error;
  });
  if (rows === undefined) return undefined;
  const byBucket = new Map(rows.map((row) => [row.bucket, row]));
  const whole = byBucket.get(WHOLE_SLICE) ?? { active_ips: 0, addresses: "" };
  const buckets = async function* (): AsyncGenerator<ActivityBucket> {
    for (const [bucket, window] of windows.entries()) {
      const { active_ips: activeIps, ips } = byBucket.get(bucket) ?? { active_ips: 0, ips: "" };
      yield { ...window, activeIps, ips: decodeAddresses(ips).sort() };
    }
  };
  return { buckets: buckets(), bySeverity: await classifyWhole(whole, plan, read) };
}
