import { FEED_SUBJECTS } from "@noisefloor/domain/feeds/feed-definition.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { defineRecords } from "../records/define-records.ts";

/** The feeds that users made, of all workspaces. */
export const feedDefinitions = defineRecords({
  table: "feeds",
  id: "id",
  columns: { id: "feed_id", limit: "max_addresses", of: "subject" },
  orderBy: "workspace_id, name",
  row: z.object({
    id: z.string(),
    workspaceId: z.string(),
    name: z.string(),
    of: z.enum(FEED_SUBJECTS),
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
  // Lists and cursors of a feed end after ten days, answers to the tokens of a deleted one after thirty.
  forget: { afterDays: 90 },
});

const deletedFeeds = defineQuery({
  name: "deleted-feed-ids",
  sql: "SELECT toString(feed_id) AS id FROM feeds GROUP BY feed_id HAVING argMax(is_deleted, updated_at)",
  params: z.object({}),
  row: z.object({ id: z.string() }),
});

/** The ids of the feeds that were deleted and are not forgotten yet. */
export const readDeletedFeedIds = async (client: ClickHouseClient): Promise<ReadonlySet<string>> =>
  new Set((await run(client, deletedFeeds, {})).map(({ id }) => id));
