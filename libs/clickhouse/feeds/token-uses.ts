import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, toDateTime64 } from "../client/query.ts";

const tokenUseSchema = z.object({
  tokenId: z.string(),
  /** The last use, in milliseconds since 1970 UTC. */
  usedAt: z.int(),
  /** In how many spans of some minutes it was used, as processes have seen it. */
  times: z.int(),
});
export type TokenUse = z.infer<typeof tokenUseSchema>;

const tokenUses = defineQuery({
  name: "feed-token-uses",
  sql: `SELECT token_id AS tokenId, toUnixTimestamp64Milli(max(used_at)) AS usedAt, toUInt32(sum(times)) AS times
    FROM feed_token_uses GROUP BY token_id`,
  params: z.object({}),
  row: tokenUseSchema,
});

/** When the tokens of all feeds were used last; a token that was not used in 90 days is left out. */
export const readTokenUses = (client: ClickHouseClient): Promise<TokenUse[]> => run(client, tokenUses, {});

export async function writeTokenUses(
  client: ClickHouseClient,
  uses: readonly Pick<TokenUse, "tokenId" | "usedAt">[],
): Promise<void> {
  if (uses.length === 0) return;
  const values = uses.map(({ tokenId, usedAt }) => ({ token_id: tokenId, used_at: toDateTime64(usedAt), times: 1 }));
  await client.insert({ table: "feed_token_uses", values, format: "JSONEachRow" });
}
