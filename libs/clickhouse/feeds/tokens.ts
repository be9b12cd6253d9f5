import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, toDateTime64 } from "../client/query.ts";
import { replaceRows } from "../mutations/replace-rows.ts";

const tokenSchema = z.object({
  id: z.string(),
  /** The one feed that it reads. */
  feedId: z.string(),
  workspaceId: z.string(),
  label: z.string(),
  sha256: z.string(),
  /** Milliseconds since 1970 UTC. */
  createdAt: z.int(),
});
export type FeedToken = z.infer<typeof tokenSchema>;

const validTokens = defineQuery({
  name: "valid-feed-tokens",
  sql: `SELECT key_id AS id, toString(feed_id) AS feedId, workspace_id AS workspaceId, label, key_sha256 AS sha256,
      toUnixTimestamp64Milli(created_at) AS createdAt
    FROM feed_tokens FINAL WHERE NOT is_revoked ORDER BY created_at, key_id`,
  params: z.object({}),
  row: tokenSchema,
});

/** The tokens of all feeds, without the revoked ones. */
export const readFeedTokens = (client: ClickHouseClient): Promise<FeedToken[]> => run(client, validTokens, {});

const deletedTokens = defineQuery({
  name: "tokens-of-deleted-feeds",
  sql: `SELECT key_sha256 AS sha256 FROM feed_tokens FINAL
    WHERE is_revoked AND updated_at > now() - toIntervalDay(30)
      AND feed_id IN (SELECT feed_id FROM feeds FINAL WHERE is_deleted)`,
  params: z.object({}),
  row: z.object({ sha256: z.string() }),
});

/** The SHA-256 of the tokens of feeds that were deleted in the last 30 days. */
export const readTokensOfDeletedFeeds = (client: ClickHouseClient) => run(client, deletedTokens, {});

/** Adds tokens, or replaces those with the same ids. */
export async function writeFeedTokens(
  client: ClickHouseClient,
  tokens: readonly FeedToken[],
  now: number,
  { isRevoked = false } = {},
): Promise<void> {
  const rows = tokens.map((token) => ({
    key_id: token.id,
    feed_id: token.feedId,
    workspace_id: token.workspaceId,
    label: token.label,
    key_sha256: token.sha256,
    created_at: toDateTime64(token.createdAt),
    is_revoked: isRevoked,
  }));
  await replaceRows(client, { table: "feed_tokens", idColumn: "key_id", rows }, now);
}
