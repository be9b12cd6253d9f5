import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { LOG_FORMATS } from "@noisefloor/ingest/formats/all.ts";
import type { Ingest, IngestOptions } from "@noisefloor/ingest/service/service.ts";
import { createIngest } from "@noisefloor/ingest/service/service.ts";
import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import type { StreamProducer } from "@noisefloor/kafka/port/port.ts";
import { kafkaProducer } from "@noisefloor/kafka/producer.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import kafkajs, { type Admin, CompressionTypes, Kafka, logLevel, Partitioners } from "kafkajs";
import { PLAIN } from "../ingest/decode.ts";
import { onDemand } from "../servers/on-demand.ts";
import { silent } from "./http.ts";
import { createWorld, RETENTION_DAYS, type World } from "./world.ts";

/** Settings with a topic and a group of their own. */
export async function freshKafka(): Promise<KafkaSettings> {
  const name = randomUUID();
  return {
    connection: { brokers: (await onDemand("kafka")).split(","), clientId: "noisefloor-tests", tls: false },
    groupId: `group-${name}`,
    sessionTimeoutMs: 30_000,
    topic: `observations-${name}`,
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
  more: Partial<IngestOptions> = {},
): Promise<Ingest> {
  const { client, catalogue, accessCache } = world;
  return createIngest({
    client,
    catalogue,
    accessCache,
    formats: LOG_FORMATS,
    decode: PLAIN,
    retentionDays,
    sensorKeys,
    kafka,
    metrics,
    log: silent,
    now,
    // Only at the stop: an intake that a test leaves would write into the next test's database.
    sensorCountsFlushMs: 86_400_000,
    ...more,
  });
}

/** A world whose intake consumes from a topic of its own. */
export type ConsumingWorld = {
  readonly world: World;
  readonly kafka: KafkaSettings;
  /** Has started; a test may stop and replace it. */
  ingest: Ingest;
  readonly producer: StreamProducer;
  close(): Promise<void>;
};

export async function openConsumingWorld(now: () => number, metrics = createMetrics()): Promise<ConsumingWorld> {
  const world = await createWorld(now);
  const kafka = await freshKafka();
  const ingest = await ingestOf(world, kafka, now, [], metrics);
  await ingest.start();
  const producer = await producerOf(kafka);
  const opened: ConsumingWorld = {
    world,
    kafka,
    ingest,
    producer,
    async close() {
      await opened.ingest.stop();
      await producer.close();
      await world.close();
    },
  };
  return opened;
}

export function producerOf(kafka: KafkaSettings): Promise<StreamProducer> {
  return kafkaProducer(kafka.connection, silent);
}

/** Publishes messages in one compressed batch to the first partition, as hashing long keys takes time. */
export async function publishGzipped(
  kafka: KafkaSettings,
  values: readonly Buffer[],
  key: Buffer | null = null,
): Promise<void> {
  const client = new Kafka({ brokers: [...kafka.connection.brokers], logLevel: logLevel.NOTHING });
  const compressing = client.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await compressing.connect();
  await compressing.send({
    topic: kafka.topic,
    compression: CompressionTypes.GZIP,
    messages: values.map((value) => ({ key, value, partition: 0 })),
  });
  await compressing.disconnect();
}

/** Publishes messages in a transaction, and commits or aborts it. */
export async function publishInTransaction(
  kafka: KafkaSettings,
  values: readonly Buffer[],
  end: "commit" | "abort",
): Promise<void> {
  const client = new Kafka({ brokers: [...kafka.connection.brokers], logLevel: logLevel.NOTHING });
  const publishing = client.producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    idempotent: true,
    maxInFlightRequests: 1,
    transactionalId: randomUUID(),
  });
  await publishing.connect();
  const transaction = await publishing.transaction();
  await transaction.send({ topic: kafka.topic, messages: values.map((value) => ({ value })) });
  await transaction[end]();
  await publishing.disconnect();
}

/** Publishes a message of this size, compressed to a thousandth. @returns the bytes of its batch after the header. */
export async function publishBomb(kafka: KafkaSettings, mebibytes: number): Promise<Buffer> {
  const mebibyte = 1024 * 1024;
  const varint = (number: number) => {
    const bytes: number[] = [];
    let left = 2 * number;
    for (; left > 127; left = Math.floor(left / 128)) bytes.push((left & 127) | 128);
    return [...bytes, left];
  };
  const value = varint(mebibytes * mebibyte);
  const head = [...varint(5 + value.length + mebibytes * mebibyte), 0, 0, 0, 1, ...value];
  const zeros = gzipSync(Buffer.alloc(mebibyte));
  const packed = Buffer.concat([
    gzipSync(Buffer.from(head)),
    ...Array.from({ length: mebibytes }, () => zeros),
    gzipSync(Buffer.from([0])),
  ]);
  const codecs = kafkajs.CompressionCodecs;
  const own = codecs[CompressionTypes.GZIP];
  codecs[CompressionTypes.GZIP] = () => ({ compress: async () => packed });
  try {
    await publishGzipped(kafka, [Buffer.alloc(0)]);
  } finally {
    codecs[CompressionTypes.GZIP] = own;
  }
  return packed;
}

export type TopicMessage = { key: string | undefined; value: Buffer; headers: Record<string, string> };

/** The first `count` messages of a topic, read by an independent consumer. */
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
  return withAdmin(kafka, (admin) => readEnds(admin, kafka));
}

async function readEnds(admin: Admin, { topic }: KafkaSettings): Promise<number[]> {
  return byPartition(await admin.fetchTopicOffsets(topic));
}

/** The offsets that a group has committed, by partition; -1 where it has committed none. */
export async function committedOffsets(kafka: KafkaSettings): Promise<number[]> {
  return withAdmin(kafka, (admin) => readCommitted(admin, kafka));
}

/** The number of the members of a consumer group. */
export async function membersOf(kafka: KafkaSettings): Promise<number> {
  return withAdmin(kafka, async (admin) => {
    const { groups } = await admin.describeGroups([kafka.groupId]);
    return groups.flatMap(({ members }) => members).length;
  });
}

async function readCommitted(admin: Admin, { groupId, topic }: KafkaSettings): Promise<number[]> {
  const [offsets] = await admin.fetchOffsets({ groupId, topics: [topic] });
  return byPartition(offsets?.partitions ?? []);
}

/** Both over one connection: a test that waits for a group asks for them again and again. */
export async function readProgress(kafka: KafkaSettings): Promise<{ ends: number[]; committed: number[] }> {
  return withAdmin(kafka, async (admin) => {
    const ends = await readEnds(admin, kafka);
    return { ends, committed: await readCommitted(admin, kafka) };
  });
}

/** By brokers, for as long as the process lives: tests ask many times a second, and to connect takes most of that. */
const admins = new Map<string, Promise<Admin>>();

export async function withAdmin<T>({ connection }: KafkaSettings, ask: (admin: Admin) => Promise<T>): Promise<T> {
  const brokers = connection.brokers.join(",");
  const opened = admins.get(brokers) ?? openAdmin(connection.brokers);
  admins.set(brokers, opened);
  try {
    return await ask(await opened);
  } catch (error) {
    admins.delete(brokers);
    await opened.then((admin) => admin.disconnect()).catch(() => {});
    throw error;
  }
}

async function openAdmin(brokers: readonly string[]): Promise<Admin> {
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  return admin;
}

function byPartition(offsets: readonly { readonly partition: number; readonly offset: string }[]): number[] {
  return offsets.toSorted((a, b) => a.partition - b.partition).map(({ offset }) => Number(offset));
}
