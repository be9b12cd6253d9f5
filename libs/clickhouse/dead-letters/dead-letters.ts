import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, runForOne, toDateTime64 } from "../client/query.ts";
import { DEAD_LETTERS } from "../client/table-names.ts";

/** What a dead letter's record came over. */
export const DEAD_LETTER_SOURCES = ["http", "file", "kafka", "hpfeeds", "syslog"] as const;
export type DeadLetterSource = (typeof DEAD_LETTER_SOURCES)[number];

/** The Kafka message that a dead letter's record came in. */
export type MessageColumns = {
  readonly topic: string;
  readonly partition: number;
  /** A 64-bit number, as text. */
  readonly offset: string;
  /** At least the first bytes of it. */
  readonly key: Buffer;
  /** How many bytes the whole key had. */
  readonly keyBytes: number;
  readonly headers: Readonly<Record<string, string>>;
};

/** A row to insert. */
export type DeadLetterRow = {
  readonly source: DeadLetterSource;
  /** The request, file or message (`topic/partition/offset`) that the record came in. */
  readonly origin: string;
  /** Its place there: from 1 in a request or file, from 0 in a message. */
  readonly position: number;
  readonly reason: string;
  readonly detail: string;
  /** At least the first bytes of the record. */
  readonly payload: Buffer;
  /** How many bytes the whole record had. */
  readonly payloadBytes: number;
  /** The observation that was read out of it, as JSON; empty when none was. */
  readonly value: string;
  readonly publishRight: string;
  /** The key that its sender showed, and the one sensor that it was made for; empty where there is none. */
  readonly keyId: string;
  readonly keySensorId: string;
  /** The sensor that the record names, else the key's; empty when neither does. */
  readonly sensorId: string;
  readonly message: MessageColumns | undefined;
};

/** A record that came otherwise. */
const NO_MESSAGE: MessageColumns = {
  ...{ topic: "", partition: -1, offset: "-1", key: Buffer.alloc(0), keyBytes: 0, headers: {} },
};

/** Inserts rows, all of one time. Rows that are there already are replaced. */
export async function writeDeadLetters(
  client: ClickHouseClient,
  rows: readonly DeadLetterRow[],
  receivedAt: number,
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const received_at = toDateTime64(receivedAt);
  await client.insert({
    table: "dead_letters",
    // The server takes the bytes from columns that an insert has to name.
    columns: ["received_at", ...Object.keys(columnsOf(first))],
    values: rows.map((row) => ({ received_at, ...columnsOf(row) })),
    format: "JSONEachRow",
    // The server joins the dead letters of many requests into one part, and answers when they are stored.
    clickhouse_settings: { async_insert: 1, wait_for_async_insert: 1 },
  });
}

function columnsOf(row: DeadLetterRow) {
  const { source, origin, position, reason, detail, value, message = NO_MESSAGE } = row;
  return {
    source,
    origin,
    position,
    reason,
    detail,
    payload_base64: row.payload.toString("base64"),
    payload_bytes: row.payloadBytes,
    value,
    publish_right: row.publishRight,
    key_id: row.keyId,
    key_sensor_id: row.keySensorId,
    sensor_id: row.sensorId,
    kafka_topic: message.topic,
    kafka_partition: message.partition,
    kafka_offset: message.offset,
    kafka_key_base64: message.key.toString("base64"),
    kafka_key_bytes: message.keyBytes,
    kafka_headers: message.headers,
  };
}

const storedDeadLetterSchema = z.object({
  id: z.string(),
  source: z.enum(DEAD_LETTER_SOURCES),
  origin: z.string(),
  position: z.int(),
  payloadBytes: z.int(),
  keptBytes: z.int(),
  publishRight: z.string(),
  keyId: z.string(),
  keySensorId: z.string(),
  sensorId: z.string(),
  /** When it was rejected last, other than by a retry. Milliseconds since 1970 UTC. */
  receivedAt: z.int(),
  reason: z.string(),
  detail: z.string(),
});
/** A row without its payload and its message. */
export type StoredDeadLetter = z.infer<typeof storedDeadLetterSchema>;

const SELECT_STORED = `
  SELECT id, source, origin, position, payload_bytes AS payloadBytes, kept_bytes AS keptBytes,
    publish_right AS publishRight, key_id AS keyId, key_sensor_id AS keySensorId,
    sensor_id AS sensorId,
    toUnixTimestamp64Milli(received_at) AS receivedAt, reason, detail
  FROM ${DEAD_LETTERS} FINAL`;

const deadLettersById = defineQuery({
  name: "dead-letters-by-id",
  sql: `${SELECT_STORED} WHERE id IN {ids:Array(String)} ORDER BY id`,
  params: z.object({ ids: z.array(z.string()) }),
  row: storedDeadLetterSchema,
});

export const readDeadLettersById = (client: ClickHouseClient, ids: readonly string[]) =>
  run(client, deadLettersById, { ids: [...ids] });

const deadLetterContents = defineQuery({
  name: "dead-letter-contents",
  sql: `SELECT id, base64Encode(payload) AS payload, value, kafka_topic AS topic, kafka_partition AS partition,
      toString(kafka_offset) AS offset, base64Encode(kafka_key) AS key, kafka_key_bytes AS keyBytes,
      kafka_headers AS headers
    FROM ${DEAD_LETTERS}
    WHERE source IN {sources:Array(String)} AND origin >= {first:String} AND origin <= {last:String}
      AND id IN {ids:Array(String)}
    ORDER BY received_at DESC LIMIT 1 BY id`,
  params: z.object({ ids: z.array(z.string()), sources: z.array(z.string()), first: z.string(), last: z.string() }),
  row: z.object({
    id: z.string(),
    payload: z.base64(),
    value: z.string(),
    topic: z.string(),
    partition: z.int(),
    offset: z.string(),
    key: z.base64(),
    keyBytes: z.int(),
    headers: z.record(z.string(), z.string()),
  }),
});

/** What a stored dead letter leaves out. */
export type DeadLetterContents = Pick<DeadLetterRow, "payload" | "value" | "message">;

/** The contents of some dead letters by their ids. */
export async function readContents(
  client: ClickHouseClient,
  deadLetters: readonly StoredDeadLetter[],
): Promise<Map<string, DeadLetterContents>> {
  const origins = deadLetters.map(({ origin }) => origin).sort();
  const rows = await run(client, deadLetterContents, {
    ids: deadLetters.map(({ id }) => id),
    // For the table's key: by their ids alone the server would read the whole table.
    sources: [...new Set(deadLetters.map(({ source }) => source))],
    first: origins.at(0) ?? "",
    last: origins.at(-1) ?? "",
  });
  return new Map(
    rows.map(({ id, payload, value, key, ...message }) => [
      id,
      {
        payload: Buffer.from(payload, "base64"),
        value,
        message: message.topic === "" ? undefined : { ...message, key: Buffer.from(key, "base64") },
      },
    ]),
  );
}

/** What a row takes besides its texts, about. */
const ROW_BYTES = 100;

/** About how many bytes a row takes: what `readBytesSince` sums up. */
export function bytesOf({ payload, value, detail, message }: DeadLetterRow): number {
  let bytes = ROW_BYTES + payload.length + value.length + detail.length + (message?.key.length ?? 0);
  for (const [name, text] of Object.entries(message?.headers ?? {})) bytes += name.length + text.length;
  return bytes;
}

const bytesSince = defineQuery({
  name: "dead-letter-bytes",
  sql: `SELECT sum(${ROW_BYTES} + kept_bytes + length(value) + length(detail) + length(kafka_key)
      + arraySum(name -> length(name), mapKeys(kafka_headers))
      + arraySum(text -> length(text), mapValues(kafka_headers))) AS bytes
    FROM ${DEAD_LETTERS} PREWHERE received_at >= fromUnixTimestamp64Milli({since:Int64})
      AND source = {source:String} AND key_id = {keyId:String}`,
  params: z.object({ source: z.string(), keyId: z.string(), since: z.int() }),
  row: z.object({ bytes: z.int() }),
});

/** How many bytes one key's dead letters take that came since a time, in milliseconds since 1970 UTC. */
export async function readBytesSince(
  client: ClickHouseClient,
  of: { readonly source: DeadLetterSource; readonly keyId: string; readonly since: number },
): Promise<number> {
  return (await runForOne(client, bytesSince, of)).bytes;
}
