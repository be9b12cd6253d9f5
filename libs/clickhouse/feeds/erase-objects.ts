import type { ClickHouseClient } from "../client/connect.ts";
import { FEED_OBJECTS } from "../client/table-names.ts";

const SETTINGS = { log_comment: "erase-feed-objects" } as const;

/**
 * Replaces the objects of some addresses by versions that say nothing but the address and whether it has left its feed,
 * and deletes the versions before. Their time is ahead of what a service may be storing at this moment.
 * @param addresses SQL: a query of IPv4 addresses as numbers, which each server can answer.
 */
export async function eraseObjects(client: ClickHouseClient, addresses: string): Promise<void> {
  for (const owner of await client.owners()) {
    await owner.command({
      query: `INSERT INTO ${FEED_OBJECTS} (feed_id, address, object_id, created_at, modified_at, first_seen, last_seen,
          valid_until, classification, tags, is_revoked)
        SELECT feed_id, address, object_id, newer.at, newer.at, 0, 0, 0, 'unknown', [], is_revoked
        FROM (SELECT * FROM ${FEED_OBJECTS} FINAL WHERE toUInt32(last_seen) != 0 AND address IN (${addresses})) AS object
        INNER JOIN (
          SELECT feed_id, toStartOfSecond(greatest(now64(3, 'UTC'), max(modified_at))) + toIntervalSecond(2) AS at
          FROM ${FEED_OBJECTS} GROUP BY feed_id) AS newer USING (feed_id)`,
      clickhouse_settings: SETTINGS,
    });
    await owner.command({
      query: `OPTIMIZE TABLE ${FEED_OBJECTS} FINAL`,
      clickhouse_settings: { ...SETTINGS, alter_sync: "2" },
    });
  }
  await client.settle("feed_objects");
}
