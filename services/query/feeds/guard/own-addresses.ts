import type { FeedCache } from "@noisefloor/clickhouse/caches/feed-cache.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { NO_WORKSPACE, writeGuardNetwork } from "@noisefloor/clickhouse/feeds/guard-networks.ts";

/** The row of OWN_ADDRESSES, of which all workspaces' feeds list none. */
const ROW_ID = "0d6f3c52-4d4b-4f8e-9a07-3a0f6a1f6c11";

/**
 * Stores OWN_ADDRESSES when they are other ones than those of the process before, so that no list that was made with
 * these is answered any more.
 */
export async function storeOwnAddresses(
  client: ClickHouseClient,
  cache: Pick<FeedCache, "feeds" | "guardOf" | "refresh">,
  ownAddresses: readonly string[],
  now: number,
): Promise<void> {
  const note = ownAddresses.toSorted().join(",");
  if (note === (cache.guardOf(NO_WORKSPACE).networks[0]?.note ?? "")) return;
  const row = { id: ROW_ID, workspaceId: NO_WORKSPACE, network: "", note, createdAt: now };
  // Newer than every list that was made before, by whichever clock.
  const changes = cache.feeds().flatMap((feed) => [feed.updatedAt, cache.guardOf(feed.workspaceId).changedAt]);
  await writeGuardNetwork(client, row, Math.max(now, ...changes.map((at) => at + 1)));
  await cache.refresh();
}
