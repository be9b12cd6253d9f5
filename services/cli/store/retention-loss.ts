import type { TableLoss } from "@noisefloor/clickhouse/storage/retention-loss.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";

/** A table may lose this share without a question: a retention that is shortened a little deletes a little. */
const UNCONFIRMED_SHARE = 0.1;

/**
 * Whether a table would lose so much that the user must confirm it. @param losses undefined when it was not counted.
 */
export function isMuch(losses: readonly TableLoss[] | undefined): boolean {
  return losses === undefined || losses.some(isLarge);
}

const isLarge = ({ rows, lost }: TableLoss) => lost > rows * UNCONFIRMED_SHARE;

/** What a shorter retention would delete, as a sentence without its full stop. */
export function formatLoss(losses: readonly TableLoss[] | undefined, current: number, days: number): string {
  const begin = `RETENTION_DAYS=${days} instead of the ${current} days that hold now would delete for good`;
  if (losses === undefined) return `${begin} all that is older, and how much that is could not be counted`;
  const parts = losses
    .filter(isLarge)
    .map(
      ({ table, rows, lost, from, to }) =>
        `${lost} of ${rows} rows of ${table} (${formatTimestamp(from)} to ${formatTimestamp(to)})`,
    );
  return `${begin} ${parts.join(" and ")}`;
}
