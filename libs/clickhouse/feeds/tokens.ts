import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { defineRecords } from "../records/define-records.ts";

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

const feedTokens = defineRecords({
  name: "valid-feed-tokens",
  table: "feed_tokens",
  row: tokenSchema,
  id: "id",
  columns: { id: "key_id", sha256: "key_sha256" },
  where: "NOT is_revoked",
  orderBy: "created_at, key_id",
});

/** The tokens of all feeds, without the revoked ones. */
export const readFeedTokens = (client: ClickHouseClient): Promise<FeedToken[]> => run(client, feedTokens.all, {});

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
export const writeFeedTokens = (
  client: ClickHouseClient,
  tokens: readonly FeedToken[],
  now: number,
  { isRevoked = false } = {},
): Promise<void> => feedTokens.write(client, tokens, now, { is_revoked: isRevoked });
