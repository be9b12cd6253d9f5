import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { toDateTime64 } from "@noisefloor/clickhouse/client/query.ts";
import { chunksOf } from "@noisefloor/domain/chunks.ts";
import type { Rejection } from "@noisefloor/domain/observation.ts";
import { formatRight, type Sender } from "@noisefloor/domain/publishing.ts";
import { KafkaUnavailableError, MessageTooLargeError } from "@noisefloor/kafka/errors.ts";
import type { Produce, ProducedMessage, StreamMessage } from "@noisefloor/kafka/port.ts";
import { type Patience, patiently } from "./patience.ts";
import type { IncomingRecord, KeepDeadLetters, RejectedRecord } from "./pipeline.ts";
import { FALLBACK_ID_HEADER, givenIdNamespace, givenRecordId, ID_NAMESPACE_HEADER } from "./record-id.ts";

/** How long a store that is away is waited for. */
export const RETRY_MS = 10_000;

/** A record that came over HTTP or from a file. */
export type PlacedRecord = IncomingRecord & {
  /** The request or file that it came in. */
  readonly origin: string;
  /** Its place there, from 1. */
  readonly position: number;
  /** Who sent it; left out for files, which whoever runs the service guards. */
  readonly sender?: Sender;
};

/**
 * What the table keeps of a payload. Enough to see what it was; whole ones of 32 MiB, sent again and again, would fill
 * the disk that the observations need.
 */
const MAX_STORED_BYTES = 1024 * 1024;

/** One insert is one string in memory, of which there is none beyond half a gigabyte. */
const PER_INSERT = { items: 10_000, bytes: 16 * 1024 * 1024 };

/**
 * Keeps rejected records in the table `dead_letters`. The same record of the same file is kept once. Waits for a store
 * that is away: whoever is told that it failed would send all of it again.
 * @param requireSpace throws while the store must not grow.
 */
export function deadLettersInto(
  client: ClickHouseClient,
  source: "http" | "file",
  now: () => number,
  requireSpace: () => void = () => {},
): KeepDeadLetters<PlacedRecord> {
  return async (rejected) => {
    const received_at = toDateTime64(now());
    const toRow = ({ record, rejection }: RejectedRecord<PlacedRecord>) => ({
      received_at,
      source,
      origin: record.origin,
      position: record.position,
      reason: rejection.reason,
      detail: rejection.detail + noteOfCut(record.bytes),
      payload_base64: record.bytes.subarray(0, MAX_STORED_BYTES).toString("base64"),
      publish_right: record.sender === undefined ? "" : formatRight(record.sender.right),
      key_id: record.sender?.keyId,
      key_sensor_id: record.sender?.sensorId,
      value: writeValue(record.value),
    });
    const columns = [
      "received_at",
      "source",
      "origin",
      "position",
      "reason",
      "detail",
      "payload_base64",
      "publish_right",
      "key_id",
      "key_sensor_id",
      "value",
    ] as const;
    for (const chunk of chunksOf(rejected, storedSize, PER_INSERT)) {
      const values = chunk.map(toRow);
      const insert = async () => {
        requireSpace();
        await client.insert({
          table: "dead_letters",
          columns: [...columns],
          values,
          format: "JSONEachRow",
          // The server joins the letters of many requests into one insert, and answers when they are stored.
          clickhouse_settings: { async_insert: 1, wait_for_async_insert: 1 },
        });
      };
      await patiently(insert, { forMs: RETRY_MS });
    }
  };
}

/** What a letter takes beside its texts, about. */
const LETTER_BYTES = 100;

/** About how much of a letter is stored: what its value takes as JSON is about what its line took. */
export function storedSize({ record: { bytes, value }, rejection }: RejectedRecord<PlacedRecord>): number {
  const payload = Math.min(bytes.length, MAX_STORED_BYTES) + (value === undefined ? 0 : bytes.length);
  return payload + rejection.detail.length + LETTER_BYTES;
}

/** Empty when there is none, or one nested so deep that it cannot be written: parsing takes more than writing does. */
function writeValue(value: unknown): string {
  try {
    return value === undefined ? "" : JSON.stringify(value);
  } catch {
    return "";
  }
}

function noteOfCut({ length }: Buffer): string {
  return length <= MAX_STORED_BYTES ? "" : cutNote(length, MAX_STORED_BYTES);
}

/** Says at a detail's end that only the first bytes are kept. */
export function cutNote(bytes: number, kept: number): string {
  return ` (of ${bytes} bytes, the first ${kept} are kept)`;
}

/** How many bytes a record had of which the table keeps only the first; undefined when it keeps all of them. */
export function sizeBeforeCut(detail: string, kept: Buffer): number | undefined {
  const [, size, first] = / \(of (\d+) bytes, the first (\d+) are kept\)$/.exec(detail) ?? [];
  // A detail may quote its record, so the note alone proves nothing.
  return size === undefined || kept.length !== Number(first) ? undefined : Number(size);
}

/** A record that came in a Kafka message, alone or among others. */
export type MessageRecord = IncomingRecord & {
  readonly message: StreamMessage;
  /** Its place in the message, from 0. */
  readonly index: number;
};

/** The header fields that say of a topic's letter why it was refused, and where it came from. */
export const LETTER_HEADERS = {
  reason: "noisefloor-reason",
  detail: "noisefloor-detail",
  topic: "noisefloor-topic",
  partition: "noisefloor-partition",
  offset: "noisefloor-offset",
  /** The record's place in its message, from 0. */
  index: "noisefloor-index",
  /** How many bytes there were, when only the first are kept. */
  cutFrom: "noisefloor-cut-from",
  /** The same of the message's key. */
  keyCutFrom: "noisefloor-key-cut-from",
} as const;

/** Keeps rejected records of messages. Aborted, nobody waits for them any more: they come again. */
export type KeepMessageLetters = (
  rejected: readonly RejectedRecord<MessageRecord>[],
  signal?: AbortSignal,
) => Promise<void>;

/**
 * Keeps rejected records in a topic, with their bytes, their message's key, and headers that say why and where from. Waits
 * for brokers that are away: an error would make all messages since the last commit come again, and end where it began.
 */
export function deadLettersTo(
  produce: Produce,
  topic: string,
  patience: Pick<Patience, "hasGivenUp" | "onWait"> = {},
): KeepMessageLetters {
  return async (rejected, signal) => {
    const hasGivenUp = () => signal?.aborted === true || patience.hasGivenUp?.() === true;
    let letters = rejected.map(toDeadLetter);
    const attempt = async () => {
      signal?.throwIfAborted();
      await produce(topic, letters);
    };
    while (letters.length > 0) {
      try {
        await patiently(attempt, { ...patience, hasGivenUp, isTransient, forMs: Number.POSITIVE_INFINITY });
        return;
      } catch (error) {
        if (!(error instanceof MessageTooLargeError)) throw error;
        letters = error.messages.map((letter) => shorten(letter) ?? giveUp(error));
      }
    }
  };
}

function isTransient(error: unknown): boolean {
  return error instanceof KafkaUnavailableError;
}

function giveUp(error: unknown): never {
  throw error;
}

/**
 * What is kept of a payload too large for a topic: compressed, it may have come in a message that brokers take, but
 * they would not take it as it is, and a dead letter that cannot be kept would hold up everything behind it.
 */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
/**
 * What is kept of a key: each record of a message carries it, and to find a letter's partition the client library takes
 * the square of its length in time.
 */
const MAX_KEY_BYTES = 1024;

function toDeadLetter({ record, rejection }: RejectedRecord<MessageRecord>): ProducedMessage {
  const { message, index, bytes } = record;
  const letter = { key: message.key, value: bytes, headers: deadLetterHeaders(message, index, rejection) };
  return cut(cut(letter, "value", MAX_MESSAGE_BYTES), "key", MAX_KEY_BYTES);
}

/**
 * For a topic that does not take as much: half of the payload, then none, then not even the key. Undefined when nothing
 * is left that could be cut.
 */
function shorten(letter: ProducedMessage): ProducedMessage | undefined {
  const [value, key] = [letter.value?.length ?? 0, letter.key?.length ?? 0];
  if (value > 0) return cut(letter, "value", value >> 1);
  return key > 0 ? cut(letter, "key", 0) : undefined;
}

/** Notes how much there was at first. */
function cut(letter: ProducedMessage, part: "key" | "value", most: number): ProducedMessage {
  const bytes = letter[part];
  if (bytes === null || bytes.length <= most) return letter;
  const note = part === "key" ? LETTER_HEADERS.keyCutFrom : LETTER_HEADERS.cutFrom;
  return { ...letter, [part]: bytes.subarray(0, most), headers: { [note]: String(bytes.length), ...letter.headers } };
}

function deadLetterHeaders(message: StreamMessage, index: number, rejection: Rejection): Record<string, string> {
  const given = givenRecordId(message);
  const idNamespace = givenIdNamespace(message);
  return {
    // A retry has to call the record what a redelivery of its message would.
    ...(given !== undefined && { [FALLBACK_ID_HEADER]: given }),
    ...(idNamespace !== undefined && { [ID_NAMESPACE_HEADER]: idNamespace }),
    [LETTER_HEADERS.reason]: rejection.reason,
    [LETTER_HEADERS.detail]: rejection.detail,
    [LETTER_HEADERS.topic]: message.topic,
    [LETTER_HEADERS.partition]: String(message.partition),
    [LETTER_HEADERS.offset]: message.offset,
    [LETTER_HEADERS.index]: String(index),
  };
}
