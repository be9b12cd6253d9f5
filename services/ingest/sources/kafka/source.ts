import { unlessAborted } from "@noisefloor/domain/time/unless-aborted.ts";
import type { StreamBatch, StreamConsumer, TakenMessages } from "@noisefloor/kafka/port/port.ts";
import { explainRejection } from "../../formats/explain-rejection.ts";
import { createMutex } from "../../mutex.ts";
import { ingestBatch } from "../../pipeline/pipeline.ts";
import type { RejectedRecord } from "../../record.ts";
import type { SourceOptions } from "../source-options.ts";
import { messageDeadLetters, TOPIC_SENDER } from "./dead-letters.ts";
import { type MessageRecord, type RawFormat, takeRecords } from "./records.ts";

/** How often to call the consumer's heartbeat, which sends one as often as its group wants it. */
const HEARTBEAT_MS = 1_000;

export type KafkaIngestOptions = SourceOptions & {
  readonly source: StreamConsumer;
  /** The format of a topic with a sensor's own records. Left out, they are observations of the wire schema. */
  readonly raw?: RawFormat | undefined;
  /** Called with how many messages a batch had that cannot be decoded. */
  readonly onUnreadable?: (topic: string, messages: number) => void;
};

/** Runs the consumer: each message's records are stored, or are stored dead letters, before its offset is committed. */
export async function startKafkaIngest(ingest: KafkaIngestOptions) {
  const { source, deadLetters, raw, counts, onUnreadable: _, log, ...options } = ingest;
  // Prepared side by side, the batches of all partitions would be ready at the same time, and the store would wait for
  // them and they for the store: one is prepared while the one before is stored.
  const lock = createMutex();
  await source.start((batch) =>
    whileBeating(batch, async (signal) => {
      const unlock = await lock(signal);
      try {
        const { records, ignored, taken } = await takeRecords(batch.messages, raw);
        const { prepared, stored } = ingestBatch(records, {
          ...options,
          ...TOPIC_SENDER,
          explain: explainRejection,
          signal,
          storeDeadLetters: (rejected) => deadLetters(messageDeadLetters(rejected), signal),
        });
        await prepared;
        const counted = stored.then((ingested) => {
          counts.add(ingested, TOPIC_SENDER);
          counts.addIgnored(ignored, TOPIC_SENDER);
          reportDamage(ingested.rejected, ingest);
        });
        return { taken, stored: counted };
      } finally {
        unlock();
      }
    }),
  );
}

function reportDamage(
  rejected: readonly RejectedRecord<MessageRecord>[],
  { onUnreadable, log }: Pick<KafkaIngestOptions, "onUnreadable" | "log">,
): void {
  for (const { record } of rejected) {
    const { topic, partition, offset, damage, damagedFrom = offset } = record.message;
    if (damage === undefined) continue;
    onUnreadable?.(topic, Number(BigInt(offset) - BigInt(damagedFrom)) + 1);
    log.error({ topic, partition, offset }, `batch unreadable, see its dead letter: ${damage}`);
  }
}

/**
 * Sends heartbeats while a batch is ingested, however long the store keeps it waiting. When a heartbeat reports a
 * rebalance, or the batch before it failed, the batch comes again, perhaps elsewhere: its work is aborted, or it would
 * pile up in memory with each time that it comes again.
 */
async function whileBeating(
  batch: StreamBatch,
  work: (signal: AbortSignal) => Promise<TakenMessages>,
): Promise<TakenMessages> {
  const lost = new AbortController();
  const signal = AbortSignal.any([lost.signal, batch.signal]);
  const timer = setInterval(() => batch.heartbeat().catch((error: unknown) => lost.abort(error)), HEARTBEAT_MS);
  const end = () => clearInterval(timer);
  try {
    const { taken, stored } = await unlessAborted(work(signal), signal);
    return { taken, stored: unlessAborted(stored, signal).finally(end) };
  } catch (error) {
    end();
    throw error;
  }
}
