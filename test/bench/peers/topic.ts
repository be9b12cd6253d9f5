import { randomUUID } from "node:crypto";
import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import { createTopic } from "@noisefloor/ingest/sources/kafka/topics.ts";
import { CompressionTypes, Kafka, logLevel, type Message, Partitioners } from "kafkajs";
import { silent } from "../../support/worlds/http.ts";

const PARTITIONS = 3;
const BYTES_PER_SEND = 500_000;

/** A topic of its own that holds these messages, and a group that has read none of them. */
export async function publish(broker: string, messages: Iterable<string>): Promise<KafkaSettings> {
  const { kafka, send, close } = await openTopic(broker);
  await send(messages);
  await close();
  return kafka;
}

/** A topic of its own that gets messages, and a group that has read none of them. */
export async function openTopic(broker: string) {
  const name = randomUUID();
  const kafka: KafkaSettings = {
    connection: { brokers: [broker], clientId: "noisefloor-bench", tls: false },
    groupId: `bench-${name}`,
    sessionTimeoutMs: 10_000,
    topic: `bench-${name}`,
    createTopics: true,
    partitions: PARTITIONS,
  };
  await createTopic(kafka, silent);
  const producer = new Kafka({ brokers: [broker], logLevel: logLevel.NOTHING }).producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    // A batch that is sent again would be more observations than the run counts on.
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  let sent = 0;
  const send = async (messages: Iterable<string>) => {
    let batch: Message[] = [];
    let bytes = 0;
    const flush = async () => {
      if (batch.length > 0) {
        await producer.send({ topic: kafka.topic, acks: -1, compression: CompressionTypes.None, messages: batch });
      }
      batch = [];
      bytes = 0;
    };
    for (const value of messages) {
      batch.push({ value, partition: sent++ % PARTITIONS });
      bytes += value.length;
      if (bytes > BYTES_PER_SEND) await flush();
    }
    await flush();
  };
  return { kafka, send, close: () => producer.disconnect() };
}
