import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import { CompressionTypes, Kafka, logLevel, type Message, Partitioners } from "kafkajs";
import type { KnownMessage } from "./known-events.ts";
import type { Random } from "./random.ts";

/** Messages that are being published to a topic. */
export type EventFlow = {
  /** Resolves when all of them are published. */
  readonly done: Promise<void>;
  /** Waits for the connection or the current batch, and sends no other. @returns a function that resumes sending. */
  hold(): Promise<() => void>;
};

/** Publishes messages in batches of random sizes, every other one compressed with gzip. */
export function startFlow(kafka: KafkaSettings, messages: Iterable<KnownMessage>, random: Random): EventFlow {
  let held: Promise<void> | undefined;
  let inProgress: Promise<unknown> = Promise.resolve();
  const publish = async () => {
    const producer = new Kafka({ brokers: [...kafka.connection.brokers], logLevel: logLevel.NOTHING }).producer({
      createPartitioner: Partitioners.DefaultPartitioner,
      // The library resends a whole batch when one partition rejects it, as while a new topic has no leader.
      // Observations without ids of their own would then be stored twice.
      idempotent: true,
      maxInFlightRequests: 1,
    });
    // No fault may come before it is connected: a producer stops trying to connect before a killed broker is back.
    inProgress = producer.connect();
    await inProgress;
    const send = async (batch: readonly Message[]) => {
      // Checked right before the send: a batch that slips through would meet the fault.
      while (held !== undefined) await held;
      inProgress = producer.send({
        topic: kafka.topic,
        acks: -1,
        compression: random.chance(0.5) ? CompressionTypes.GZIP : CompressionTypes.None,
        messages: [...batch],
      });
      await inProgress;
    };
    let batch: Message[] = [];
    let most = 1;
    for (const message of messages) {
      batch.push(message);
      if (batch.length < most) continue;
      await send(batch);
      batch = [];
      most = random.int(1, 600);
    }
    if (batch.length > 0) await send(batch);
    await producer.disconnect();
  };
  const done = publish();
  // Callers of `done` get the failure; until then an unhandled rejection must not end the program.
  done.catch(() => {});
  return {
    done,
    async hold() {
      let settle = () => {};
      held = new Promise((settled) => {
        settle = settled;
      });
      await inProgress.catch(() => {});
      return () => {
        held = undefined;
        settle();
      };
    },
  };
}
