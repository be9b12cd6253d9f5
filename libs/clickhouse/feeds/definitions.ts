import type { FeedDefinition } from "@noisefloor/domain/feeds/feed-definition.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, toDateTime64 } from "../client/query.ts";
import { replaceRows } from "../mutations/replace-rows.ts";

const allFeeds = defineQuery({
  name: "all-feeds",
  sql: `SELECT toString(feed_id) AS id, workspace_id AS workspaceId, name, query, days, description,
      max_addresses AS limit, ttl_hours AS ttlHours, is_guarded AS isGuarded,
      keeps_fallen AS keepsFallen, is_enabled AS isEnabled,
      toUnixTimestamp64Milli(created_at) AS createdAt, toUnixTimestamp64Milli(updated_at) AS updatedAt
    FROM feeds FINAL WHERE NOT is_deleted ORDER BY workspace_id, name`,
  params: z.object({}),
  row: z.object({
    id: z.string(),
    workspaceId: z.string(),
    name: z.string(),
    query: z.string(),
    days: z.int(),
    description: z.string(),
    limit: z.int(),
    ttlHours: z.int(),
    isGuarded: z.boolean(),
    keepsFallen: z.boolean(),
    isEnabled: z.boolean(),
    createdAt: z.int(),
    updatedAt: z.int(),
  }),
});

/** The feeds that users made, of all workspaces. */
export const readFeeds = (client: ClickHouseClient): Promise<FeedDefinition[]> => run(client, allFeeds, {});

/** Adds a feed or replaces the one with its id. */
export async function writeFeed(
  client: ClickHouseClient,
  feed: Omit<FeedDefinition, "updatedAt">,
  now: number,
  { isDeleted = false } = {},
): Promise<void> {
  const row = {
    feed_id: feed.id,
    workspace_id: feed.workspaceId,
    name: feed.name,
    query: feed.query,
    days: feed.days,
    description: feed.description,
    max_addresses: feed.limit,
    ttl_hours: feed.ttlHours,
    is_guarded: feed.isGuarded,
    keeps_fallen: feed.keepsFallen,
    is_enabled: feed.isEnabled,
    is_deleted: isDeleted,
    created_at: toDateTime64(feed.createdAt),
  };
  await replaceRows(client, { table: "feeds", idColumn: "feed_id", rows: [row] }, now);
}
