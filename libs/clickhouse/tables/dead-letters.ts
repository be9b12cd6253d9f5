import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import { defineQuery, run, runForOne } from "../client/query.ts";

/**
 * A letter is the same however often its file was replayed and whatever reason it was given last. Padded, for `hex` leaves
 * out leading zeros: of 256 letters one would have an id that no command takes.
 */
const ID = "leftPad(lower(hex(sipHash64(source, origin, position, payload))), 16, '0')";

/** Some rows of the table as letters, each once, with what was said of it when it was kept last. */
const lettersIn = (rows: string) => `
  SELECT id, source, origin, position, bytes, publishRight, keyId, keySensorId, toUnixTimestamp64Milli(kept_at) AS keptAt, reason, detail
  FROM (
    SELECT ${ID} AS id, source, origin, position, any(length(payload)) AS bytes, max(received_at) AS kept_at,
      argMax(letters.reason, received_at) AS reason, argMax(letters.detail, received_at) AS detail,
      argMax(publish_right, received_at) AS publishRight, argMax(key_id, received_at) AS keyId,
      argMax(key_sensor_id, received_at) AS keySensorId
    FROM ${rows} AS letters GROUP BY id, source, origin, position)`;

const storedLetterSchema = z.object({
  id: z.string(),
  source: z.enum(["http", "file"]),
  /** The request or file that it came in, and its place there, from 1. */
  origin: z.string(),
  position: z.int(),
  bytes: z.int(),
  /** Where its sender might write; empty when that was not noted. */
  publishRight: z.string(),
  /** The key that its sender showed, and the one sensor that it was made for; empty where there is none. */
  keyId: z.string(),
  keySensorId: z.string(),
  /** When it was refused last, other than by a retry. Milliseconds since 1970 UTC. */
  keptAt: z.int(),
  reason: z.string(),
  detail: z.string(),
});
/** A record that was refused, without its payload. */
export type StoredLetter = z.infer<typeof storedLetterSchema>;

const letterRows = defineQuery({
  name: "dead-letter-rows",
  sql: "SELECT count() AS rows FROM dead_letters",
  params: z.object({}),
  row: z.object({ rows: z.int() }),
});

/** In the order of the table's key, so that the server reads no more than the page. */
const letterPage = defineQuery({
  name: "dead-letter-page",
  sql: `${lettersIn(`(
      SELECT * FROM dead_letters
      WHERE source > {source:String} OR (source = {source:String} AND origin > {origin:String})
        OR (source = {source:String} AND origin = {origin:String} AND position > {position:UInt64})
      ORDER BY source, origin, position LIMIT {limit:UInt32} WITH TIES)`)}
    ORDER BY source, origin, position`,
  params: z.object({ source: z.string(), origin: z.string(), position: z.int(), limit: z.int() }),
  row: storedLetterSchema,
});

const lettersById = defineQuery({
  name: "dead-letters-by-id",
  sql: `${lettersIn(`(SELECT * FROM dead_letters WHERE ${ID} IN {ids:Array(String)})`)} ORDER BY id`,
  params: z.object({ ids: z.array(z.string()) }),
  row: storedLetterSchema,
});

const letterPayloads = defineQuery({
  name: "dead-letter-payloads",
  sql: `SELECT id, base64Encode(any(payload)) AS payload, argMax(value, received_at) AS value
    FROM (
      SELECT ${ID} AS id, payload, value, received_at FROM dead_letters
      WHERE source IN {sources:Array(String)} AND origin IN {origins:Array(String)}
        AND position IN {positions:Array(UInt64)} AND id IN {ids:Array(String)})
    GROUP BY id`,
  params: z.object({
    ids: z.array(z.string()),
    sources: z.array(z.string()),
    origins: z.array(z.string()),
    positions: z.array(z.int()),
  }),
  row: z.object({ id: z.string(), payload: z.base64(), value: z.string() }),
});

/** The same as `storedSize` of the intake says of each letter, about. */
const letterBytes = defineQuery({
  name: "dead-letter-bytes",
  sql: `SELECT sum(length(payload) + length(value) + length(detail) + 100) AS bytes FROM dead_letters
    PREWHERE received_at >= fromUnixTimestamp64Milli({since:Int64}) AND source = {source:String} AND key_id = {keyId:String}`,
  params: z.object({ source: z.string(), keyId: z.string(), since: z.int() }),
  row: z.object({ bytes: z.int() }),
});

/** How many bytes one key's letters take that were kept since a time, in milliseconds since 1970 UTC. */
export async function readLetterBytes(
  client: ClickHouseClient,
  of: { readonly source: string; readonly keyId: string; readonly since: number },
): Promise<number> {
  return (await run(client, letterBytes, of))[0]?.bytes ?? 0;
}

/** About how many letters there are: one that was kept again counts twice until the server has merged the two. */
export async function countLetterRows(client: ClickHouseClient): Promise<number> {
  return (await runForOne(client, letterRows, {})).rows;
}

export const readLettersById = (client: ClickHouseClient, ids: readonly string[]) =>
  run(client, lettersById, { ids: [...ids] });

const PAGE_LETTERS = 5_000;

/** All letters, done or not, in the order of their places. */
export async function* readLetters(client: ClickHouseClient): AsyncGenerator<StoredLetter[]> {
  let last = { source: "", origin: "", position: 0 };
  for (;;) {
    const page = await run(client, letterPage, { ...last, limit: PAGE_LETTERS });
    const end = page.at(-1);
    if (end === undefined) return;
    yield page;
    last = { source: end.source, origin: end.origin, position: end.position };
  }
}

export type LetterPayload = {
  readonly payload: Buffer;
  /** The observation that was read out of it, as JSON; empty when none was or when that was not noted. */
  readonly value: string;
};

/** The payloads of some letters by their ids. */
export async function readPayloads(
  client: ClickHouseClient,
  letters: readonly StoredLetter[],
): Promise<Map<string, LetterPayload>> {
  const rows = await run(client, letterPayloads, {
    ids: letters.map(({ id }) => id),
    sources: [...new Set(letters.map(({ source }) => source))],
    origins: [...new Set(letters.map(({ origin }) => origin))],
    positions: [...new Set(letters.map(({ position }) => position))],
  });
  return new Map(rows.map(({ id, payload, value }) => [id, { payload: Buffer.from(payload, "base64"), value }]));
}
