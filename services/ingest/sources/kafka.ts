import { setTimeout as sleep } from "node:timers/promises";
import type { StreamBatch, StreamMessage, StreamSource } from "@noisefloor/kafka/source.ts";
import type { Logger } from "pino";
import type { MessageRecord } from "../dead-letter.ts";
import { splitMessage } from "../decode.ts";
import { ingestBatch, type JudgeDeps, type KeepDeadLetters, type RejectedRecord } from "../pipeline.ts";
import type { InsertObservations } from "../writer.ts";

/** Whichever comes first ends a batch for ClickHouse: large inserts are what keeps its number of parts low. */
const MAX_RECORDS_PER_INSERT = 50_000;

export type KafkaIngestDeps = JudgeDeps & {
  readonly source: StreamSource;
  /** One try: trying again is this file's work, because only it can keep the group membership alive meanwhile. */
  readonly insert: InsertObservations;
  readonly isTransient: (error: unknown) => boolean;
  readonly keepDeadLetters: KeepDeadLetters<MessageRecord>;
  readonly log: Logger;
};

/** Runs the consumer: every message's records are stored or kept as dead letters before its offset is committed. */
export async function startKafkaIngest(deps: KafkaIngestDeps): Promise<void> {
  await deps.source.start(async (batch) => {
    const { records, unreadable } = unpack(batch.messages);
    for (let start = 0; start < records.length; start += MAX_RECORDS_PER_INSERT) {
      await store(records.slice(start, start + MAX_RECORDS_PER_INSERT), batch, deps);
    }
    if (unreadable.length > 0) await deps.keepDeadLetters(unreadable);
  });
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
    const parts = splitMessage(payload);
    const toRecord = (bytes: Buffer, index: number): MessageRecord => ({
      bytes,
      index,
      message,
      fallbackId: `kafka:${message.topic}/${message.partition}/${message.offset}/${index}`,
    });
    if (Array.isArray(parts)) records.push(...parts.map(toRecord));
    else unreadable.push({ record: toRecord(payload, 0), rejection: parts });
  }
  return { records, unreadable };
}

/**
 * Stores some records, and while the store is away waits inside the handler: an error that left it would use up the
 * library's few retries and end the consumer.
 */
async function store(records: readonly MessageRecord[], batch: StreamBatch, deps: KafkaIngestDeps): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const beat = setInterval(() => batch.heartbeat().catch(() => {}), 3_000);
    try {
      const { rejected } = await ingestBatch(records, deps);
      if (rejected.length > 0) deps.log.warn({ rejected: rejected.length }, "records went to the dead-letter topic");
      return;
    } catch (error) {
      if (!deps.isTransient(error) || !batch.isWanted()) throw error;
      deps.log.warn({ err: error, attempt }, "the store cannot be reached: trying again");
      await sleep(Math.min(5_000, 100 * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2));
      await batch.heartbeat();
    } finally {
      clearInterval(beat);
    }
  }
}
