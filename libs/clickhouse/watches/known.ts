import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { type NumberColumn, numberColumn, wideNumbers } from "../client/native.ts";
import { defineQuery, run, toDateTime64 } from "../client/query.ts";

const OF_WATCH =
  "watch_known FINAL WHERE watch_id = {watchId:UUID} AND since_at = fromUnixTimestamp64Milli({sinceAt:Int64}, 'UTC')";
const params = z.object({ watchId: z.string(), sinceAt: z.int() });
const knownAddresses = defineQuery({
  name: "watch-known-addresses",
  sql: `SELECT arraySort(CAST(subjects, 'Array(UInt32)')) AS subjects FROM ${OF_WATCH}`,
  params,
  row: z.object({ subjects: numberColumn }),
  format: "Native",
});
const knownHashes = defineQuery({
  name: "watch-known-hashes",
  sql: `SELECT arraySort(subjects) AS subjects FROM ${OF_WATCH}`,
  params,
  row: z.object({ subjects: wideNumbers }),
  format: "Native",
});

type OfWatch = { readonly id: string; readonly sinceAt: number };
const paramsOf = ({ id, sinceAt }: OfWatch) => ({ watchId: id, sinceAt });

/** The addresses that a watch with this condition need not tell of, ascending; undefined where nothing was stored. */
export const readKnownAddresses = async (client: ClickHouseClient, watch: OfWatch): Promise<NumberColumn | undefined> =>
  (await run(client, knownAddresses, paramsOf(watch))).at(0)?.subjects;

/** The same of hashes of values. */
export const readKnownHashes = async (
  client: ClickHouseClient,
  watch: OfWatch,
): Promise<readonly number[] | undefined> => (await run(client, knownHashes, paramsOf(watch))).at(0)?.subjects;

/** Stores what was there before the condition of a watch was made. */
export async function writeKnown(
  client: ClickHouseClient,
  { id, sinceAt }: OfWatch,
  subjects: readonly number[],
): Promise<void> {
  const row = { watch_id: id, since_at: toDateTime64(sinceAt), subjects };
  await client.insert({ table: "watch_known", values: [row], format: "JSONEachRow" });
}
