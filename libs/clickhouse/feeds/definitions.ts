import type { FeedDefinition } from "@noisefloor/domain/feeds/feed-definition.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { run } from "../client/query.ts";
import { defineRecords } from "../records/define-records.ts";

const feeds = defineRecords({
  name: "all-feeds",
  table: "feeds",
  id: "id",
  columns: { id: "feed_id", limit: "max_addresses" },
  where: "NOT is_deleted",
  orderBy: "workspace_id, name",
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
export const readFeeds = (client: ClickHouseClient): Promise<FeedDefinition[]> => run(client, feeds.all, {});

/** Adds a feed or replaces the one with its id. */
export const writeFeed = (
  client: ClickHouseClient,
  feed: Omit<FeedDefinition, "updatedAt">,
  now: number,
  { isDeleted = false } = {},
): Promise<void> => feeds.write(client, [feed], now, { is_deleted: isDeleted });
