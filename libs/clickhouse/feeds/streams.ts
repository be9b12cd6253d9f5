import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, toDateTime64 } from "../client/query.ts";

const positionSchema = z.object({
  /** Names the list. */
  revision: z.string(),
  /** Milliseconds since 1970 UTC. */
  answeredAt: z.int(),
});
/** What the holder of a token was last told. */
export type StreamPosition = z.infer<typeof positionSchema>;

const streamPosition = defineQuery({
  name: "feed-stream-position",
  sql: `SELECT toString(revision) AS revision, toUnixTimestamp64Milli(answered_at) AS answeredAt
    FROM feed_streams FINAL WHERE token_id = {tokenId:String}`,
  params: z.object({ tokenId: z.string() }),
  row: positionSchema,
});

export async function readStreamPosition(
  client: ClickHouseClient,
  tokenId: string,
): Promise<StreamPosition | undefined> {
  const [position] = await run(client, streamPosition, { tokenId });
  return position;
}

export async function writeStreamPosition(
  client: ClickHouseClient,
  tokenId: string,
  { revision, answeredAt }: StreamPosition,
): Promise<void> {
  const row = { token_id: tokenId, revision, answered_at: toDateTime64(answeredAt) };
  await client.insert({ table: "feed_streams", values: [row], format: "JSONEachRow" });
}
