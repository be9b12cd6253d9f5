import { randomUUID } from "node:crypto";
import type { Ingest, KafkaSettings } from "@noisefloor/ingest/service.ts";
import { createIngest } from "@noisefloor/ingest/service.ts";
import { kafkaProducer } from "@noisefloor/kafka/kafkajs.ts";
import type { StreamProducer } from "@noisefloor/kafka/source.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { type Admin, CompressionTypes, Kafka, logLevel, Partitioners } from "kafkajs";
import { inject } from "vitest";
import { silent } from "./http.ts";
import { RETENTION_DAYS, type World } from "./world.ts";

/** Settings with topics and a group that nobody else uses. */
export function freshKafka(): KafkaSettings {
  const name = randomUUID();
  return {
    connection: { brokers: inject("kafkaBrokers").split(","), clientId: "noisefloor-tests", tls: false },
    groupId: `group-${name}`,
    sessionTimeoutMs: 30_000,
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
  metrics = createMetrics(),
  retentionDays = () => RETENTION_DAYS,
): Promise<Ingest> {
  const { client, catalogue, sensors } = world;
  return createIngest({
    client,
    catalogue,
    sensors,
    retentionDays,
    sensorKeys,
    kafka,
    metrics,
    log: silent,
    now,
  });
}

export function producerOf(kafka: KafkaSettings): Promise<StreamProducer> {
  return kafkaProducer(kafka.connection, silent);
}

/** Publishes one message that the producer has compressed. */
export async function publishGzipped(kafka: KafkaSettings, value: Buffer): Promise<void> {
  const client = new Kafka({ brokers: [...kafka.connection.brokers], logLevel: logLevel.NOTHING });
  const compressing = client.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await compressing.connect();
  await compressing.send({ topic: kafka.topic, compression: CompressionTypes.GZIP, messages: [{ value }] });
  await compressing.disconnect();
}

/** Groups that the brokers know of. */
export function groupsOn(kafka: KafkaSettings): Promise<string[]> {
  return withAdmin(kafka, async (admin) => (await admin.listGroups()).groups.map(({ groupId }) => groupId));
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

/** The offsets that a topic's next messages will get, by partition. */
export async function endOffsets(kafka: KafkaSettings): Promise<number[]> {
  return withAdmin(kafka, async (admin) => byPartition(await admin.fetchTopicOffsets(kafka.topic)));
}

/** The offsets that a group has committed, by partition; -1 where it has committed none. */
export async function committedOffsets(kafka: KafkaSettings): Promise<number[]> {
  return withAdmin(kafka, async (admin) => {
    const [topic] = await admin.fetchOffsets({ groupId: kafka.groupId, topics: [kafka.topic] });
    return byPartition(topic?.partitions ?? []);
  });
}

async function withAdmin<T>(kafka: KafkaSettings, ask: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new Kafka({ brokers: [...kafka.connection.brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    return await ask(admin);
  } finally {
    await admin.disconnect();
  }
}

function byPartition(offsets: readonly { readonly partition: number; readonly offset: string }[]): number[] {
  return offsets.toSorted((a, b) => a.partition - b.partition).map(({ offset }) => Number(offset));
}
