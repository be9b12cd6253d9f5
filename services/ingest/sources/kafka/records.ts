import { MAX_CLOCK_AHEAD_MS, type Rejection } from "@noisefloor/domain/observation/observation.ts";
import { createRecordPace } from "@noisefloor/domain/time/yield.ts";
import type { StreamMessage } from "@noisefloor/kafka/port/port.ts";
import { openDecoder } from "../../formats/decoder.ts";
import type { DecodeOptions, FileRecord, LogFormat } from "../../formats/format.ts";
import { countIgnored, type IgnoredCounts } from "../../formats/ignored.ts";
import { splitMessageInTurns } from "../../formats/json/split.ts";
import type { IncomingRecord } from "../../record.ts";
import { FALLBACK_ID_HEADER, idNamespaceOfMessage, messageRecordId } from "../../record-id.ts";

/**
 * What is ingested and committed as one, give or take a message: small enough that a process which is killed again and
 * again still makes progress. A message of two kilobytes may hold a thousand records.
 */
const MAX_RECORDS = 25_000;
const MAX_BYTES = 8 * 1024 * 1024;

/** A record that came in a Kafka message, alone or among others. */
export type MessageRecord = IncomingRecord & {
  readonly message: StreamMessage;
  /** Its index in the message, from 0. */
  readonly index: number;
};

/** How to decode the records of a raw topic. */
export type RawFormat = { readonly formats: readonly LogFormat[]; readonly decode: DecodeOptions };

/** The records of the first messages of a batch. */
export type TakenRecords = {
  readonly records: readonly MessageRecord[];
  readonly ignored: IgnoredCounts;
  /** How many messages they came in. */
  readonly taken: number;
};

/**
 * Splits the first messages of a batch into records, until these are enough for one insert, and decodes them. A message
 * that cannot be split is one rejected record. @param raw left out, they are observations of the wire schema.
 */
export async function takeRecords(
  messages: readonly StreamMessage[],
  raw: RawFormat | undefined,
): Promise<TakenRecords> {
  const pace = createRecordPace();
  const ignored = countIgnored();
  const records: MessageRecord[] = [];
  let taken = 0;
  let bytes = 0;
  for (const message of messages) {
    const payload = message.value ?? Buffer.alloc(0);
    const pause = pace(payload.length);
    if (pause !== undefined) await pause;
    const split = message.damage === undefined ? splitMessageInTurns(payload) : unreadableBatch(message.damage);
    const parts = split instanceof Promise ? await split : split;
    let found: FileRecord[];
    if (!Array.isArray(parts)) found = [{ bytes: payload, rejection: parts }];
    else if (raw === undefined) found = parts.map((part) => ({ bytes: part }));
    else found = await decodeParts(parts, message, raw, ignored, pace);
    const idNamespace = idNamespaceOfMessage(message);
    const isCounted = message.headers[FALLBACK_ID_HEADER] === undefined ? undefined : true;
    for (const [index, record] of found.entries()) {
      const fallbackId = messageRecordId(message, index);
      records.push({ ...record, index, message, fallbackId, idNamespace, isCounted });
    }
    taken++;
    bytes += payload.length + (message.key?.length ?? 0);
    if (records.length >= MAX_RECORDS || bytes >= MAX_BYTES) break;
  }
  return { records, ignored: ignored.counts, taken };
}

/** The observations among a message's records. A header holds for the lines after it in the same message. */
async function decodeParts(
  parts: readonly Buffer[],
  message: StreamMessage,
  raw: RawFormat,
  ignored: ReturnType<typeof countIgnored>,
  pace: ReturnType<typeof createRecordPace>,
): Promise<FileRecord[]> {
  const now = () => timeOf(message, raw.decode.now());
  const decode = openDecoder(raw.formats, { ...raw.decode, now });
  const observations: FileRecord[] = [];
  for (const part of parts) {
    const pause = pace(part.length);
    if (pause !== undefined) await pause;
    for (const record of decode(part)) if (!ignored.add(record)) observations.push(record);
  }
  return observations;
}

/**
 * The time of a message's records that have none: when it was published, the same when it is delivered again. A
 * producer whose clock is ahead, or that states no time, leaves them that of their arrival.
 */
function timeOf({ timestamp }: StreamMessage, now: number): number {
  return timestamp > 0 && timestamp <= now + MAX_CLOCK_AHEAD_MS ? timestamp : now;
}

function unreadableBatch(detail: string): Rejection {
  return { reason: "unreadable-batch", detail };
}
