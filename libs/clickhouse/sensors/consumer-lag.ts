import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, toDateTime64 } from "../client/query.ts";
import { CONSUMER_LAG } from "../client/table-names.ts";

/** Of a topic that was read in the last days: the intake may have been told to read other ones. */
const KEPT_DAYS = 7;

/** The lag of each topic, by name. `at` is when it was seen, in milliseconds since 1970 UTC. */
export const consumerLag = defineQuery({
  name: "consumer-lag",
  sql: `SELECT topic, messages, toUnixTimestamp64Milli(updated_at) AS at FROM ${CONSUMER_LAG} FINAL
    WHERE updated_at >= fromUnixTimestamp64Milli({now:Int64}, 'UTC') - toIntervalDay(${KEPT_DAYS}) ORDER BY topic`,
  params: z.object({ now: z.int() }),
  row: z.object({ topic: z.string(), messages: z.int(), at: z.int() }),
});

/** @param at when it was seen, in milliseconds since 1970 UTC. */
export async function writeConsumerLag(
  client: ClickHouseClient,
  { topic, messages, at }: { readonly topic: string; readonly messages: number; readonly at: number },
): Promise<void> {
  await client.insert({
    table: "consumer_lag",
    values: [{ topic, messages, updated_at: toDateTime64(at) }],
    format: "JSONEachRow",
  });
}
