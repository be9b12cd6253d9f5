import type { RefreshHead } from "@noisefloor/clickhouse/feeds/refreshes.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";

/** A list that lost half of its addresses or more at one refresh, without a change of its feed or of the guard. */
export type Fall = {
  /** How many addresses it had before. */
  readonly from: number;
  /** Milliseconds since 1970 UTC. */
  readonly at: number;
};

/**
 * The fall that a list is marked with after a refresh: until it has recovered, for a day at most.
 * @param known the list before.
 */
export function fallOf(
  known: { readonly head: RefreshHead; readonly fall?: Fall | undefined } | undefined,
  head: Pick<RefreshHead, "basis" | "count" | "refreshedAt">,
): Fall | undefined {
  if (known === undefined || known.head.basis !== head.basis) return undefined;
  const { fall } = known;
  if (fall !== undefined && head.count * 2 <= fall.from && head.refreshedAt - fall.at < DAY_MS) return fall;
  const from = known.head.count;
  return from > 0 && head.count * 2 <= from ? { from, at: head.refreshedAt } : undefined;
}
