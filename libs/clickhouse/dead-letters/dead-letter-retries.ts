import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { DEAD_LETTER_RETRIES } from "../client/table-names.ts";
import { toRow } from "../records/define-records.ts";

const storedRetrySchema = z.object({
  id: z.string(),
  /** Milliseconds since 1970 UTC. */
  retriedAt: z.int(),
  isDone: z.boolean(),
  /** Why the retry rejected it again; empty when it was stored. */
  reason: z.string(),
  detail: z.string(),
});
/** The result of a dead letter's last retry. */
export type StoredRetry = z.infer<typeof storedRetrySchema>;

const retriesById = defineQuery({
  name: "dead-letter-retries",
  sql: `SELECT id, toUnixTimestamp64Milli(retried_at) AS retriedAt, is_done AS isDone, reason, detail
    FROM ${DEAD_LETTER_RETRIES} FINAL WHERE id IN {ids:Array(String)}`,
  params: z.object({ ids: z.array(z.string()) }),
  row: storedRetrySchema,
});

/** A parameter's text must stay below the server's 128 KiB. */
const IDS_PER_QUERY = 4_000;

/** The last retries of some dead letters. Those that were never retried are left out. */
export async function readRetries(client: ClickHouseClient, ids: readonly string[]): Promise<StoredRetry[]> {
  const retries: StoredRetry[] = [];
  for (let start = 0; start < ids.length; start += IDS_PER_QUERY) {
    retries.push(...(await run(client, retriesById, { ids: ids.slice(start, start + IDS_PER_QUERY) })));
  }
  return retries;
}

export async function writeRetries(client: ClickHouseClient, retries: readonly StoredRetry[]): Promise<void> {
  if (retries.length === 0) return;
  await client.insert({
    table: "dead_letter_retries",
    values: retries.map((retry) => toRow(retry)),
    format: "JSONEachRow",
  });
}
