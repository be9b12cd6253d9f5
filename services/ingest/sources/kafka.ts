import type { Rejection } from "@noisefloor/domain/observation.ts";
import type { StreamBatch, StreamConsumer, StreamMessage } from "@noisefloor/kafka/port.ts";
import type { Logger } from "pino";
import type { KeepMessageLetters, MessageRecord } from "../dead-letter.ts";
import { splitMessage } from "../decode.ts";
import { type BatchDeps, ingestBatch, type RejectedRecord } from "../pipeline.ts";
import { givenIdNamespace, messageRecordId } from "../record-id.ts";

/**
 * So many records are judged and handed over at once, give or take a message's: a message of two kilobytes may hold a
 * thousand, each takes half a kilobyte in memory, and thousands of such messages come packed into ten kilobytes.
 */
const RECORDS_AT_ONCE = 25_000;
/** How often the source is asked to beat, which does so as often as its group wants it. */
const HEARTBEAT_MS = 1_000;

export type KafkaIngestDeps = Omit<BatchDeps<MessageRecord>, "keepDeadLetters"> & {
  readonly keepDeadLetters: KeepMessageLetters;
  readonly source: StreamConsumer;
  readonly log: Logger;
};

/** Runs the consumer: every message's records are stored or kept as dead letters before its offset is committed. */
export async function startKafkaIngest(deps: KafkaIngestDeps): Promise<void> {
  await deps.source.start((batch) =>
    withHeartbeat(batch, (signal) => {
      const keepDeadLetters: KeepMessageLetters = (rejected) => deps.keepDeadLetters(rejected, signal);
      return ingestMessages(batch.messages, { ...deps, keepDeadLetters, signal, hasMore: batch.hasMore });
    }),
  );
}

async function ingestMessages(messages: readonly StreamMessage[], deps: KafkaIngestDeps): Promise<void> {
  let rejected = 0;
  for (const { records, unreadable, isLast } of unpack(messages)) {
    const outcome = await ingestBatch(records, { ...deps, hasMore: deps.hasMore || !isLast });
    rejected += outcome.rejected.length + unreadable.length;
    deps.signal?.throwIfAborted();
    if (unreadable.length > 0) await keepUnreadable(unreadable, deps);
  }
  if (rejected > 0) deps.log.warn({ rejected }, "records went to the dead-letter topic");
}

async function keepUnreadable(
  unreadable: readonly RejectedRecord<MessageRecord>[],
  deps: KafkaIngestDeps,
): Promise<void> {
  await deps.keepDeadLetters(unreadable);
  for (const { record, rejection } of unreadable) {
    deps.onOutcome?.(rejection.reason, 1);
    const { topic, partition, offset, damage } = record.message;
    if (damage !== undefined) deps.log.error({ topic, partition, offset }, `a dead letter holds messages: ${damage}`);
  }
}

type Unpacked = {
  readonly records: MessageRecord[];
  /** Messages that cannot be taken apart. */
  readonly unreadable: RejectedRecord<MessageRecord>[];
  readonly isLast: boolean;
};

/** What a batch's messages hold, a part at a time: the next messages are only taken apart when the last part is done with. */
function* unpack(messages: readonly StreamMessage[]): Generator<Unpacked> {
  let records: MessageRecord[] = [];
  let unreadable: RejectedRecord<MessageRecord>[] = [];
  for (const [place, message] of messages.entries()) {
    const payload = message.value ?? Buffer.alloc(0);
    const parts = message.damage === undefined ? splitMessage(payload) : unreadableBatch(message.damage);
    const idNamespace = givenIdNamespace(message);
    const toRecord = (bytes: Buffer, index: number): MessageRecord => ({
      bytes,
      index,
      message,
      fallbackId: messageRecordId(message, index),
      idNamespace,
    });
    if (Array.isArray(parts)) records.push(...parts.map(toRecord));
    else unreadable.push({ record: toRecord(payload, 0), rejection: parts });
    const isLast = place === messages.length - 1;
    if (!isLast && records.length + unreadable.length < RECORDS_AT_ONCE) continue;
    yield { records, unreadable, isLast };
    records = [];
    unreadable = [];
  }
}

function unreadableBatch(detail: string): Rejection {
  return { reason: "unreadable-batch", detail };
}

/**
 * Keeps the membership of the group alive while work is under way, however long the store makes it wait. When the group
 * says that the partition is needed elsewhere the wait ends and so does the work, which would else pile up in memory with
 * each time that the messages come again; what is stored all the same comes again as the same observations.
 */
async function withHeartbeat(batch: StreamBatch, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const end = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const lost = new Promise<never>((_, fail) => {
    timer = setInterval(() => batch.heartbeat().catch(fail), HEARTBEAT_MS);
  });
  try {
    await Promise.race([work(end.signal), lost]);
  } catch (error) {
    end.abort(error);
    throw error;
  } finally {
    clearInterval(timer);
  }
}
