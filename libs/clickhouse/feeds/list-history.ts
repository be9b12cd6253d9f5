import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { FEED_REFRESHES } from "../client/table-names.ts";
import { ADDED, REMOVED } from "./refreshes.ts";

const lists = defineQuery({
  name: "feed-lists",
  sql: `SELECT toString(revision) AS revision, toUnixTimestamp64Milli(revised_at) AS listedAt, count,
      ${ADDED} AS came, ${REMOVED} AS left
    FROM (SELECT * FROM ${FEED_REFRESHES}
      WHERE feed_id = {feedId:UUID} AND parent != revision AND list = revision ORDER BY refreshed_at LIMIT 1 BY revision)
    ORDER BY revised_at DESC, revision DESC LIMIT {limit:UInt32}`,
  params: z.object({ feedId: z.string(), limit: z.int() }),
  row: z.object({ revision: z.string(), listedAt: z.int(), count: z.int(), came: z.int(), left: z.int() }),
});

/**
 * The last lists of a feed, the newest first, with how many hosts each has, and how many came and left since the
 * one before it. Times in milliseconds since 1970 UTC.
 */
export const readLists = (client: ClickHouseClient, feedId: string, limit: number) =>
  run(client, lists, { feedId, limit });
