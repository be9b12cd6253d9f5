import type { TableLoss } from "@noisefloor/clickhouse/retention-loss.ts";
import { formatTimestamp } from "@noisefloor/domain/window.ts";

/** Less of a table goes without a question: a retention that is shortened a little deletes a little. */
const UNASKED_SHARE = 0.1;

/**
 * What a shorter retention would delete, as a sentence without its full stop; undefined when that is little.
 * @param losses undefined when it could not be counted.
 */
export function describeLoss(
  losses: readonly TableLoss[] | undefined,
  current: number,
  days: number,
): string | undefined {
  const begin = `RETENTION_DAYS=${days} instead of the ${current} days that hold now`;
  if (losses === undefined)
    return `${begin} would delete what is older for good, and how much that is cannot be counted`;
  const large = losses.filter(({ rows, lost }) => lost > rows * UNASKED_SHARE);
  if (large.length === 0) return undefined;
  const parts = large.map(
    ({ table, rows, lost, from, to }) =>
      `${lost} of ${rows} rows of ${table} (${formatTimestamp(from)} to ${formatTimestamp(to)})`,
  );
  return `${begin} would delete for good ${parts.join(" and ")}`;
}
