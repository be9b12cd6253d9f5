import type { Rejection } from "@noisefloor/domain/observation.ts";
import type { StreamBatch, StreamMessage, StreamSource } from "@noisefloor/kafka/source.ts";
import type { Logger } from "pino";
import type { KeepMessageLetters, MessageRecord } from "../dead-letter.ts";
import { splitMessage } from "../decode.ts";
import { type BatchDeps, ingestBatch, type RejectedRecord } from "../pipeline.ts";
import { messageRecordId } from "../record-id.ts";

/** So many records are judged and handed over at once: what a batch unpacks to must not all be in memory twice. */
const RECORDS_AT_ONCE = 50_000;
/** How often the source is asked to beat, which does so as often as its group wants it. */
const HEARTBEAT_MS = 1_000;

export type KafkaIngestDeps = Omit<BatchDeps<MessageRecord>, "keepDeadLetters"> & {
  readonly keepDeadLetters: KeepMessageLetters;
  readonly source: StreamSource;
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
  const { records, unreadable } = unpack(messages);
  let rejected = unreadable.length;
  for (let start = 0; start < records.length; start += RECORDS_AT_ONCE) {
    rejected += (await ingestBatch(records.slice(start, start + RECORDS_AT_ONCE), deps)).rejected.length;
  }
  deps.signal?.throwIfAborted();
  if (unreadable.length > 0) {
    await deps.keepDeadLetters(unreadable);
    for (const { record, rejection } of unreadable) {
      deps.onOutcome?.(rejection.reason, 1);
      const { topic, partition, offset, damage } = record.message;
      if (damage !== undefined) deps.log.error({ topic, partition, offset }, `a dead letter holds messages: ${damage}`);
    }
  }
  if (rejected > 0) deps.log.warn({ rejected }, "records went to the dead-letter topic");
}

/** The records of a batch's messages, and the messages that cannot be taken apart. */
function unpack(messages: readonly StreamMessage[]): {
  records: MessageRecord[];
  unreadable: RejectedRecord<MessageRecord>[];
} {
  const records: MessageRecord[] = [];
  const unreadable: RejectedRecord<MessageRecord>[] = [];
  for (const message of messages) {
    const payload = message.value ?? Buffer.alloc(0);
    const parts = message.damage === undefined ? splitMessage(payload) : unreadableBatch(message.damage);
    const toRecord = (bytes: Buffer, index: number): MessageRecord => ({
      bytes,
      index,
      message,
      fallbackId: messageRecordId(message, index),
    });
    if (Array.isArray(parts)) records.push(...parts.map(toRecord));
    else unreadable.push({ record: toRecord(payload, 0), rejection: parts });
  }
  return { records, unreadable };
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
