import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { createRecordPace } from "@noisefloor/domain/time/own-turn.ts";
import type { StreamBatch, StreamConsumer, StreamMessage } from "@noisefloor/kafka/port.ts";
import type { Logger } from "pino";
import type { DeadLetterStore } from "../../dead-letters/dead-letter.ts";
import { openDecoder } from "../../formats/decoder.ts";
import type { DecodeOptions, FileRecord, IgnoredReason, LogFormat } from "../../formats/format.ts";
import { countIgnored } from "../../formats/ignored.ts";
import { splitMessageInTurns } from "../../formats/json/split.ts";
import { createTurns, type TakeTurn } from "../../mutex.ts";
import { type BatchOptions, type IngestedRecords, ingestBatch } from "../../pipeline.ts";
import type { RejectedRecord } from "../../record.ts";
import { FALLBACK_ID_HEADER, idNamespaceOfMessage, messageRecordId } from "../../record-id.ts";
import type { SourceActivity } from "../../sensor-counts/counter.ts";
import { type MessageRecord, messageDeadLetters, TOPIC_SENDER } from "./dead-letters.ts";

/**
 * So many records are ingested at once, give or take a message's: a message of two kilobytes may hold a thousand, each
 * takes half a kilobyte in memory, and thousands of such messages come packed into ten kilobytes.
 */
const RECORDS_AT_ONCE = 25_000;
/** How often to call the source's heartbeat, which sends one as often as its group wants it. */
const HEARTBEAT_MS = 1_000;

export type KafkaIngestOptions = Omit<
  BatchOptions<MessageRecord>,
  "right" | "sensorId" | "signal" | "hasMore" | "onWaiting" | "storeDeadLetters"
> & {
  readonly deadLetters: DeadLetterStore;
  readonly source: StreamConsumer;
  /** Of a topic with a sensor's own records. Left out, they are observations of the wire schema. */
  readonly raw?: RawRecords | undefined;
  /** Counts what became of the records by sensor. */
  readonly activity?: SourceActivity | undefined;
  readonly log: Logger;
};

/** How to decode the records of a raw topic. */
export type RawRecords = {
  readonly formats: readonly LogFormat[];
  readonly decode: DecodeOptions;
  /** Called with how many records were no observations. */
  readonly onIgnored: (reason: IgnoredReason, records: number) => void;
};

/** Runs the consumer: each message's records are stored, or are stored dead letters, before its offset is committed. */
export async function startKafkaIngest(options: KafkaIngestOptions): Promise<void> {
  const takeTurn = createTurns();
  await options.source.start((batch) =>
    withHeartbeat(batch, (signal) =>
      ingestMessages(batch.messages, {
        ...options,
        ...TOPIC_SENDER,
        takeTurn,
        signal,
        hasMore: batch.hasMore,
        onPrepared: batch.onPrepared,
        onRecords: (records) => options.activity?.count(withoutPublished(records), TOPIC_SENDER),
        storeDeadLetters: (rejected) => options.deadLetters(messageDeadLetters(rejected), signal),
      }),
    ),
  );
}

/** What our own intake has published was counted there, with its sender's key. */
function withoutPublished({ accepted, rejected }: IngestedRecords<MessageRecord>): IngestedRecords<MessageRecord> {
  const foreign = accepted.filter(({ record }) => record.message.headers[FALLBACK_ID_HEADER] === undefined);
  return { accepted: foreign, rejected };
}

type MessagesOptions = BatchOptions<MessageRecord> &
  Pick<KafkaIngestOptions, "raw" | "activity" | "log"> & {
    readonly takeTurn: TakeTurn;
    readonly onPrepared: () => void;
  };

/**
 * The batches of all partitions come at once. Prepared side by side, all would be ready at the same time, and the store
 * would wait for them and they for the store: each is prepared in its turn, while the one before is stored.
 */
async function ingestMessages(messages: readonly StreamMessage[], options: MessagesOptions): Promise<void> {
  const { takeTurn, onPrepared, signal, hasMore } = options;
  let giveBack = await takeTurn(signal);
  try {
    for await (const { records, unreadable, isLast } of unpack(messages, options)) {
      const onWaiting = () => {
        giveBack();
        if (isLast) onPrepared();
      };
      await ingestBatch(records, { ...options, hasMore: hasMore || !isLast, onWaiting });
      signal?.throwIfAborted();
      giveBack();
      if (unreadable.length > 0) await storeUnreadable(unreadable, options);
      if (!isLast) giveBack = await takeTurn(signal);
    }
  } finally {
    giveBack();
  }
}

async function storeUnreadable(
  unreadable: readonly RejectedRecord<MessageRecord>[],
  { storeDeadLetters, onOutcome, onRecords, log }: MessagesOptions,
): Promise<void> {
  await storeDeadLetters(unreadable);
  onRecords?.({ accepted: [], rejected: unreadable });
  for (const { record, rejection } of unreadable) {
    onOutcome?.(rejection.reason, 1);
    const { topic, partition, offset, damage } = record.message;
    if (damage !== undefined)
      log.error({ topic, partition, offset }, `batch unreadable, see its dead letter: ${damage}`);
  }
}

type Unpacked = {
  readonly records: MessageRecord[];
  /** Messages that cannot be split into records. */
  readonly unreadable: RejectedRecord<MessageRecord>[];
  readonly isLast: boolean;
};

/** A batch's records, some at a time: the next messages are split when those before are ingested. */
async function* unpack(
  messages: readonly StreamMessage[],
  { raw, activity }: Pick<MessagesOptions, "raw" | "activity">,
): AsyncGenerator<Unpacked> {
  const pace = createRecordPace();
  let records: MessageRecord[] = [];
  let unreadable: RejectedRecord<MessageRecord>[] = [];
  for (const [place, message] of messages.entries()) {
    const payload = message.value ?? Buffer.alloc(0);
    // Records to be decoded have their own.
    const pause = raw === undefined ? pace(payload.length) : undefined;
    if (pause !== undefined) await pause;
    const split = message.damage === undefined ? splitMessageInTurns(payload) : unreadableBatch(message.damage);
    const parts = split instanceof Promise ? await split : split;
    const idNamespace = idNamespaceOfMessage(message);
    const toRecord = (bytes: Buffer, index: number): MessageRecord => ({
      ...{ bytes, index, message, fallbackId: messageRecordId(message, index), idNamespace },
    });
    if (Array.isArray(parts)) {
      if (raw === undefined) for (const [index, bytes] of parts.entries()) records.push(toRecord(bytes, index));
      else {
        const decoded = await decodeRecords(parts, raw, activity, pace);
        for (const [index, record] of decoded.entries()) records.push({ ...toRecord(record.bytes, index), ...record });
      }
    } else unreadable.push({ record: toRecord(payload, 0), rejection: parts });
    const isLast = place === messages.length - 1;
    if (!isLast && records.length + unreadable.length < RECORDS_AT_ONCE) continue;
    yield { records, unreadable, isLast };
    records = [];
    unreadable = [];
  }
}

/** The observations among a message's records. A header holds for the lines after it in the same message. */
async function decodeRecords(
  parts: readonly Buffer[],
  raw: RawRecords,
  activity: SourceActivity | undefined,
  pace: ReturnType<typeof createRecordPace>,
): Promise<FileRecord[]> {
  const decode = openDecoder(raw.formats, raw.decode);
  const observations: FileRecord[] = [];
  const ignored = countIgnored();
  for (const bytes of parts) {
    const pause = pace(bytes.length);
    if (pause !== undefined) await pause;
    for (const record of decode(bytes)) if (!ignored.add(record)) observations.push(record);
  }
  for (const [reason, records] of ignored.counts) raw.onIgnored(reason, records);
  activity?.ignored(ignored.counts, TOPIC_SENDER);
  return observations;
}

function unreadableBatch(detail: string): Rejection {
  return { reason: "unreadable-batch", detail };
}

/**
 * Sends heartbeats while a batch is ingested, however long the store keeps it waiting. When a heartbeat reports a
 * rebalance, or the batch before it failed, the batch comes again, perhaps elsewhere: its work is aborted, or it would
 * pile up in memory with each time that it comes again.
 */
async function withHeartbeat(batch: StreamBatch, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const lost = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const failed = new Promise<never>((_, fail) => {
    timer = setInterval(() => batch.heartbeat().catch(fail), HEARTBEAT_MS);
    batch.signal.addEventListener("abort", () => fail(batch.signal.reason), { once: true });
  });
  try {
    await Promise.race([work(lost.signal), failed]);
  } catch (error) {
    lost.abort(error);
    throw error;
  } finally {
    clearInterval(timer);
  }
}
