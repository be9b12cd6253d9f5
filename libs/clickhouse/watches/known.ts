import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { wideNumbers } from "../client/native.ts";
import { defineQuery, run, toDateTime64 } from "../client/query.ts";

const known = defineQuery({
  name: "watch-known",
  sql: `SELECT subjects FROM watch_known FINAL
    WHERE watch_id = {watchId:UUID} AND since_at = fromUnixTimestamp64Milli({sinceAt:Int64}, 'UTC')`,
  params: z.object({ watchId: z.string(), sinceAt: z.int() }),
  row: z.object({ subjects: wideNumbers }),
  format: "Native",
});

type OfWatch = { readonly id: string; readonly sinceAt: number };

/** What a watch with this condition need not tell of; undefined where nothing was stored. */
export async function readKnown(client: ClickHouseClient, watch: OfWatch): Promise<readonly number[] | undefined> {
  const blocks = await run(client, known, { watchId: watch.id, sinceAt: watch.sinceAt });
  return blocks.at(0)?.subjects;
}

/** Stores what was there before the condition of a watch was made. */
export async function writeKnown(
  client: ClickHouseClient,
  { id, sinceAt }: OfWatch,
  subjects: readonly number[],
): Promise<void> {
  const row = { watch_id: id, since_at: toDateTime64(sinceAt), subjects };
  await client.insert({ table: "watch_known", values: [row], format: "JSONEachRow" });
}
