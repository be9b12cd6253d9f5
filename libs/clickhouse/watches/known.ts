import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { type NumberColumn, numberColumn, wideNumbers } from "../client/native.ts";
import { defineQuery, run, toDateTime64 } from "../client/query.ts";
import { mutate } from "../mutations/mutate.ts";

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

const PLACE = "concat(toString(watch_id), ' ', toString(since_at))";
/** Of a deleted watch, or of a condition that has changed since. A day leaves time for a watch that is about to be stored. */
const unused = defineQuery({
  name: "watch-known-unused",
  sql: `SELECT ${PLACE} AS place FROM watch_known
    WHERE since_at < {before:DateTime64(3, 'UTC')}
      AND (watch_id, since_at) NOT IN (SELECT watch_id, since_at FROM watches FINAL)
    GROUP BY place LIMIT 1000`,
  params: z.object({ before: z.string() }),
  row: z.object({ place: z.string() }),
});

/** What watches with other conditions than now knew, to be forgotten like deleted records. */
export const unusedKnown = {
  table: "watch_known",
  /** Can be interrupted and repeated. @returns how many rows. */
  async forgetDeleted(client: ClickHouseClient, now: number): Promise<number> {
    const places = (await run(client, unused, { before: toDateTime64(now - DAY_MS) })).map(({ place }) => place);
    if (places.length === 0) return 0;
    await mutate(client, {
      table: "watch_known",
      change: `DELETE WHERE ${PLACE} IN {places:Array(String)}`,
      params: { places },
    });
    return places.length;
  },
};
