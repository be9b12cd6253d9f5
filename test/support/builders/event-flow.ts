import type { KafkaSettings } from "@noisefloor/ingest/service.ts";
import { CompressionTypes, Kafka, logLevel, type Message, Partitioners } from "kafkajs";
import type { KnownMessage } from "./known-events.ts";
import type { Random } from "./random.ts";

/** Messages on their way into a topic. */
export type EventFlow = {
  /** Resolves when all of them are there. */
  readonly done: Promise<void>;
  /** Lets the batch under way arrive and sends no other until the answer is called. */
  hold(): Promise<() => void>;
};

/** Publishes messages in batches of random sizes, every other one compressed with gzip. */
export function startFlow(kafka: KafkaSettings, messages: Iterable<KnownMessage>, random: Random): EventFlow {
  let held: Promise<void> | undefined;
  let inProgress: Promise<unknown> = Promise.resolve();
  const publish = async () => {
    const producer = new Kafka({ brokers: [...kafka.connection.brokers], logLevel: logLevel.NOTHING }).producer({
      createPartitioner: Partitioners.DefaultPartitioner,
      // The library sends a whole batch again when one partition rejected it (a new topic's leader is not there at once).
      // Observations that are named by their place would then truly have come twice.
      idempotent: true,
      maxInFlightRequests: 1,
    });
    await producer.connect();
    const send = async (batch: readonly Message[]) => {
      // Looked at without a pause before the send: one that slips through would meet what the flow is held for.
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
  // Whoever waits for it hears of a failure; until then it must not end the program.
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
