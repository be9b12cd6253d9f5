import type { SensorKeyCache } from "@noisefloor/clickhouse/caches/sensor-key-cache.ts";
import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import type { DiskGuard } from "@noisefloor/clickhouse/server/disk-space.ts";
import type { Operation } from "@noisefloor/http/operation.ts";
import { assertTopicsExist } from "@noisefloor/kafka/admin.ts";
import type { KafkaConnection } from "@noisefloor/kafka/connection.ts";
import { kafkaConsumer } from "@noisefloor/kafka/consumer.ts";
import { pollConsumerLag } from "@noisefloor/kafka/consumer-lag.ts";
import type { Produce, StreamConsumer } from "@noisefloor/kafka/port.ts";
import { kafkaProducer } from "@noisefloor/kafka/producer.ts";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { deadLettersTo } from "./dead-letter.ts";
import { limitDeadLetters } from "./dead-letter-quota.ts";
import { mostRecordsIn } from "./decode.ts";
import { type IngestMetrics, ingestFigures } from "./figures.ts";
import { type InsertObservations, insertQueue } from "./insert-queue.ts";
import { patiently } from "./patience.ts";
import { type Accept, acceptInto, type IncomingRecord } from "./pipeline.ts";
import { FALLBACK_ID_HEADER, ID_NAMESPACE_HEADER } from "./record-id.ts";
import { isIntakeOpen, registerIntake } from "./sources/http.ts";
import { postObservations } from "./sources/intake-operation.ts";
import { startKafkaIngest } from "./sources/kafka.ts";
import { checkDeadLetterRetention, createTopics } from "./topics.ts";
import { insertInto, type ObservationRow } from "./writer.ts";

export type KafkaSettings = {
  readonly connection: KafkaConnection;
  readonly groupId: string;
  /** Makes this process a static member of the group. */
  readonly instanceId?: string | undefined;
  /** After so long without a sign of life a process's partitions go to the others. */
  readonly sessionTimeoutMs: number;
  readonly topic: string;
  readonly deadLetterTopic: string;
  readonly createTopics: boolean;
  readonly partitions: number;
};

export type IngestDeps = {
  readonly client: ClickHouseClient;
  readonly catalogue: TagCatalogue;
  readonly retentionDays: () => number;
  readonly sensorKeys: readonly string[];
  readonly sensors: SensorKeyCache;
  /** Without it nothing is refused for want of space. */
  readonly disk?: DiskGuard | undefined;
  /** What the dead letters of one key's sender may take in the table a UTC day. */
  readonly deadLetterBytesPerDay?: number | undefined;
  /** Without it HTTP and files are the only sources. */
  readonly kafka: KafkaSettings | undefined;
  /** Called with the rows of each insert that has succeeded. */
  readonly onStored?: ((rows: readonly ObservationRow[]) => void) | undefined;
  readonly metrics: IngestMetrics;
  readonly log: Logger;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
};

/** Every operation of the intake. */
export const INGEST_OPERATIONS: readonly Operation[] = [postObservations];

/** How long an HTTP request waits for a store that is away before it is refused. */
const HTTP_RETRY_MS = 10_000;
/** Rows of one request wait so long for those of others; rows of a topic longer, for nobody waits for their answer. */
const HTTP_LINGER_MS = 20;
const KAFKA_LINGER_MS = 1_000;

export type Ingest = {
  /** Adds the HTTP intake to an application. */
  register(app: FastifyInstance): void;
  /** Whether the HTTP intake takes observations without a key at the moment. */
  isOpen(): boolean;
  /** Starts to consume, when brokers are configured. */
  start(): Promise<void>;
  /** What must be there for the intake to do its work, by name; each rejects while it is not. */
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  /** Lets the batch under way end and be committed, then leaves the brokers. */
  stop(): Promise<void>;
  /** Rejects when the consumer has died for good. */
  readonly failure: Promise<never>;
};

/** Sets up every source of observations that the settings ask for. */
export async function createIngest(deps: IngestDeps): Promise<Ingest> {
  const { client, catalogue, retentionDays, log, now, metrics } = deps;
  const judging = { catalogue, retentionDays, now };
  const figures = ingestFigures(metrics);
  const stream = deps.kafka === undefined ? undefined : await connectStream(deps.kafka, retentionDays(), metrics, log);
  if (stream !== undefined) {
    metrics.gaugeBy(
      "noisefloor_kafka_lag_messages",
      "Messages of the topic that the consumer group has not committed yet, by partition",
      "partition",
      () => stream.lag.current(),
    );
  }
  const requireSpace = deps.disk?.requireSpace;
  const insertRows = insertInto(client, requireSpace);
  const insert: InsertObservations = async (rows, token) => {
    await insertRows(rows, token);
    deps.onStored?.(rows);
  };
  const letters = limitDeadLetters(client, {
    source: "http",
    bytesPerDay: deps.deadLetterBytesPerDay ?? Number.POSITIVE_INFINITY,
    now,
    requireSpace,
    ...figures.onLetters("http"),
    log,
  });
  const queueFor = (source: string, retryForMs: number, lingerMs: number) =>
    insertQueue({
      insert,
      retryForMs,
      lingerMs,
      onInsert: figures.onInsert,
      onWait: (error, attempt) => log.warn({ err: error, attempt, source }, "insert failed, retrying"),
    });
  let isStopping = false;
  // Who sent a request hears that the store is away; messages wait, or else a single one with a tag that is not known
  // would end the process.
  const patientCatalogue: TagCatalogue = {
    ...catalogue,
    refresh: (signal) =>
      patiently(catalogue.refresh, {
        forMs: Number.POSITIVE_INFINITY,
        hasGivenUp: () => isStopping || signal?.aborted === true,
        onWait: (error, attempt) => log.warn({ err: error, attempt }, "the tag catalogue cannot be read, retrying"),
      }),
  };
  const requests = queueFor("http", HTTP_RETRY_MS, HTTP_LINGER_MS);
  const messages = queueFor("kafka", Number.POSITIVE_INFINITY, KAFKA_LINGER_MS);
  return {
    failure: stream?.source.failure ?? new Promise<never>(() => {}),
    checks: stream === undefined ? {} : { kafka: async () => requireLife(stream.source) },
    register(app) {
      registerIntake(app, {
        ...judging,
        keepDeadLetters: letters.keep,
        // Brokers keep what is published until the store has room again.
        requireSpace: stream === undefined ? requireSpace : undefined,
        sensorKeys: deps.sensorKeys,
        sensors: deps.sensors,
        accept: stream === undefined ? acceptInto(requests) : publishTo(stream.produce, stream.topic),
        onOutcome: figures.onOutcome("http"),
      });
    },
    isOpen: () => isIntakeOpen(deps),
    async start() {
      if (stream === undefined) return;
      await startKafkaIngest({
        ...judging,
        catalogue: patientCatalogue,
        // Who may write to the topic is for the brokers to say, and the HTTP intake publishes what it has judged.
        right: "everything",
        source: stream.source,
        accept: acceptInto(messages),
        keepDeadLetters: deadLettersTo(stream.produce, stream.deadLetterTopic, {
          hasGivenUp: () => isStopping,
          onWait: (error, attempt) => log.warn({ err: error, attempt }, "dead letters cannot be kept, retrying"),
        }),
        onOutcome: figures.onOutcome("kafka"),
        log,
      });
    },
    async stop() {
      isStopping = true;
      requests.giveUp();
      messages.giveUp();
      await stream?.stop();
      await letters.close();
    },
  };
}

async function requireLife(source: StreamConsumer): Promise<void> {
  if (!source.isAlive()) throw new Error("the consumer neither fetches nor beats");
}

async function connectStream(kafka: KafkaSettings, retentionDays: number, metrics: IngestMetrics, log: Logger) {
  if (kafka.createTopics) await createTopics(kafka, retentionDays, log);
  else await assertTopicsExist(kafka.connection, [kafka.topic, kafka.deadLetterTopic], log);
  await checkDeadLetterRetention(kafka, retentionDays, log);
  const producer = await kafkaProducer(kafka.connection, log);
  const source = kafkaConsumer(
    kafka.connection,
    {
      topic: kafka.topic,
      groupId: kafka.groupId,
      instanceId: kafka.instanceId,
      sessionTimeoutMs: kafka.sessionTimeoutMs,
      fromBeginning: true,
      recordsIn: mostRecordsIn,
      onRestart: () => metrics.kafkaRestarts.inc(),
    },
    log,
  );
  const lag = pollConsumerLag(kafka.connection, kafka, log);
  return {
    source,
    lag,
    produce: producer.produce,
    topic: kafka.topic,
    deadLetterTopic: kafka.deadLetterTopic,
    async stop() {
      await source.stop();
      await lag.stop();
      await producer.close();
    },
  };
}

/**
 * Publishes accepted records in their own bytes, or as JSON when they came in another format or when their publisher's
 * right, which the topic's reader does not know, said where they belong. Each goes with the id that it has if its sensor
 * gave it none: a message that the producer writes twice is the same observation then. Likewise with the key within which
 * its sensor's id is unique.
 */
export function publishTo<R extends IncomingRecord>(produce: Produce, topic: string): Accept<R> {
  return async ({ accepted }) => {
    await produce(
      topic,
      accepted.map(({ value, bytes, fallbackId, idNamespace }) => ({
        key: null,
        value: value === undefined ? bytes : Buffer.from(JSON.stringify(value)),
        headers: {
          [FALLBACK_ID_HEADER]: fallbackId,
          ...(idNamespace !== undefined && { [ID_NAMESPACE_HEADER]: idNamespace }),
        },
      })),
    );
    return [];
  };
}
