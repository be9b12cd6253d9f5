import { randomUUID } from "node:crypto";
import type { Ingest, KafkaSettings } from "@noisefloor/ingest/service.ts";
import { createIngest } from "@noisefloor/ingest/service.ts";
import { kafkaProducer } from "@noisefloor/kafka/kafkajs.ts";
import type { StreamProducer } from "@noisefloor/kafka/source.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { Kafka, logLevel } from "kafkajs";
import { inject } from "vitest";
import { silent } from "./http.ts";
import { RETENTION_DAYS, type World } from "./world.ts";

/** Settings with topics and a group that nobody else uses. */
export function freshKafka(): KafkaSettings {
  const name = randomUUID();
  return {
    connection: { brokers: inject("kafkaBrokers").split(","), clientId: "noisefloor-tests", tls: false },
    groupId: `group-${name}`,
    topic: `observations-${name}`,
    deadLetterTopic: `dead-${name}`,
    createTopics: true,
    partitions: 2,
  };
}

/** The ingest service over a world, with or without brokers; not started yet. */
export function ingestOf(
  world: World,
  kafka: KafkaSettings | undefined,
  now: () => number,
  sensorKeys: readonly string[] = [],
): Promise<Ingest> {
  const { client, catalogue, sensors } = world;
  return createIngest({
    client,
    catalogue,
    sensors,
    retentionDays: RETENTION_DAYS,
    sensorKeys,
    kafka,
    metrics: createMetrics(),
    log: silent,
    now,
  });
}

export function producerOf(kafka: KafkaSettings): Promise<StreamProducer> {
  return kafkaProducer(kafka.connection, silent);
}

export type TopicMessage = { key: string | undefined; value: Buffer; headers: Record<string, string> };

/** The first `count` messages of a topic, read by a consumer that the service knows nothing of. */
export async function readTopic(kafka: KafkaSettings, topic: string, count: number): Promise<TopicMessage[]> {
  const client = new Kafka({ brokers: [...kafka.connection.brokers], logLevel: logLevel.NOTHING });
  const consumer = client.consumer({ groupId: `reader-${randomUUID()}` });
  const messages: TopicMessage[] = [];
  await consumer.connect();
  try {
    await consumer.subscribe({ topic, fromBeginning: true });
    await new Promise<void>((settle, fail) => {
      const timer = setTimeout(() => fail(new Error(`only ${messages.length} of ${count} messages came`)), 30_000);
      consumer
        .run({
          eachMessage: async ({ message }) => {
            messages.push({
              key: message.key?.toString(),
              value: message.value ?? Buffer.alloc(0),
              headers: Object.fromEntries(
                Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)]),
              ),
            });
            if (messages.length === count) {
              clearTimeout(timer);
              settle();
            }
          },
        })
        .catch(fail);
    });
  } finally {
    await consumer.disconnect();
  }
  return messages;
}

/** The offsets that a group has committed, by partition; -1 where it has committed none. */
export async function committedOffsets(kafka: KafkaSettings): Promise<number[]> {
  const admin = new Kafka({ brokers: [...kafka.connection.brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const [topic] = await admin.fetchOffsets({ groupId: kafka.groupId, topics: [kafka.topic] });
    return (topic?.partitions ?? []).map(({ offset }) => Number(offset));
  } finally {
    await admin.disconnect();
  }
}
