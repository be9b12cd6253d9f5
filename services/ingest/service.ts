import { setMaxListeners } from "node:events";
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
import { type LimitedDeadLetterStore, limitedDeadLetterStore } from "./dead-letters/quota.ts";
import type { Enricher } from "./enrichment/enricher.ts";
import { mostRecordsIn } from "./formats/json/split.ts";
import { type InsertQueue, insertQueue } from "./insert-queue.ts";
import { type IngestMetrics, ingestMetrics } from "./metrics.ts";
import type { ObservationRow } from "./observation-row.ts";
import { retry } from "./retry.ts";
import { clickhouseSink, insertObservations } from "./sinks/clickhouse.ts";
import { kafkaSink } from "./sinks/kafka.ts";
import { postObservations } from "./sources/http/operation.ts";
import { registerIntake } from "./sources/http/route.ts";
import { isIntakeOpen, type SensorKeys } from "./sources/http/senders.ts";
import { startKafkaIngest } from "./sources/kafka/consumer.ts";
import { createTopic } from "./sources/kafka/topics.ts";

export type KafkaSettings = {
  readonly connection: KafkaConnection;
  readonly groupId: string;
  /** Makes this process a static member of the group. */
  readonly instanceId?: string | undefined;
  /** After so long without a heartbeat a process's partitions go to the others. */
  readonly sessionTimeoutMs: number;
  readonly topic: string;
  readonly createTopics: boolean;
  readonly partitions: number;
};

export type IngestOptions = SensorKeys & {
  readonly client: ClickHouseClient;
  readonly catalogue: TagCatalogue;
  readonly retentionDays: () => number;
  /** Without it nothing is rejected for want of space. */
  readonly disk?: DiskGuard | undefined;
  /** What the dead letters of one sender, or of Kafka as a whole, may take a UTC day. */
  readonly deadLetterBytesPerDay?: number | undefined;
  /** Without it HTTP and files are the only sources. */
  readonly kafka: KafkaSettings | undefined;
  /** Without it observations are stored without what their sensor left out. */
  readonly enricher?: Enricher | undefined;
  /** Called with the rows of each insert that has succeeded. */
  readonly onStored?: ((rows: readonly ObservationRow[]) => void) | undefined;
  readonly metrics: IngestMetrics;
  readonly log: Logger;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
};

/** Every operation of the intake. */
export const INGEST_OPERATIONS: readonly Operation[] = [postObservations];

/**
 * An HTTP request is answered with 503 when the store is away for so long; Kafka waits without end, for it would
 * deliver the same messages again. Kafka's rows may also linger for a larger insert, as no client waits for an answer.
 */
const TIMES = {
  http: { retryForMs: 10_000, lingerMs: 20 },
  kafka: { retryForMs: Number.POSITIVE_INFINITY, lingerMs: 1_000 },
} as const;
type Source = keyof typeof TIMES;

export type Ingest = {
  /** Adds the HTTP intake to an application. */
  register(app: FastifyInstance): void;
  /** Whether the HTTP intake takes observations without a key at the moment. */
  isOpen(): boolean;
  /** Starts to consume, when brokers are configured. */
  start(): Promise<void>;
  /** What must be there for the intake to do its work, by name; each rejects while it is not. */
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  /** Stops fetching, drains and commits the current batch, and disconnects. */
  stop(): Promise<void>;
  /** Rejects when the consumer has died for good. */
  readonly failure: Promise<never>;
};

/** Sets up every source of observations that the settings ask for. */
export async function createIngest(options: IngestOptions): Promise<Ingest> {
  const { catalogue, retentionDays, now, metrics, log } = options;
  const counted = ingestMetrics(metrics);
  const kafka = options.kafka === undefined ? undefined : await connectKafka(options.kafka, metrics, log);
  const shutdown = new AbortController();
  // Each request that waits for the store listens to it; Node would warn of a leak from the eleventh on.
  setMaxListeners(0, shutdown.signal);
  const createFor = (source: Source) => createStores(source, { ...options, counted, shutdown: shutdown.signal });
  const http = createFor("http");
  const stream = kafka && { ...kafka, ...createFor("kafka") };
  const validation = { retentionDays, now };
  return {
    failure: kafka?.source.failure ?? new Promise<never>(() => {}),
    checks: kafka === undefined ? {} : { kafka: async () => assertAlive(kafka.source) },
    register(app) {
      registerIntake(app, {
        ...validation,
        catalogue,
        // With Kafka, what is published stays as the sensor sent it, and its consumer enriches.
        enricher: kafka === undefined ? options.enricher : undefined,
        sensorKeys: options.sensorKeys,
        sensors: options.sensors,
        sink: kafka === undefined ? clickhouseSink(http.queue) : kafkaSink(kafka.produce, kafka.topic),
        deadLetters: http.deadLetters.store,
        // With Kafka, the brokers store what is published until ClickHouse has space again.
        assertSpace: kafka === undefined ? options.disk?.assertSpace : undefined,
        onOutcome: counted.onOutcome("http"),
      });
    },
    isOpen: () => isIntakeOpen(options),
    async start() {
      if (stream === undefined) return;
      await startKafkaIngest({
        ...validation,
        catalogue: retryingCatalogue(catalogue, shutdown.signal, log),
        enricher: options.enricher,
        source: stream.source,
        sink: clickhouseSink(stream.queue),
        deadLetters: stream.deadLetters.store,
        onOutcome: counted.onOutcome("kafka"),
        log,
      });
    },
    async stop() {
      shutdown.abort();
      await stream?.stop();
      await stream?.deadLetters.close();
      await http.deadLetters.close();
    },
  };
}

/** Where the records of one source go. */
type Stores = { readonly queue: InsertQueue; readonly deadLetters: LimitedDeadLetterStore };

type StoresOptions = IngestOptions & {
  readonly counted: ReturnType<typeof ingestMetrics>;
  readonly shutdown: AbortSignal;
};

function createStores(source: Source, options: StoresOptions): Stores {
  const {
    client,
    disk,
    deadLetterBytesPerDay = Number.POSITIVE_INFINITY,
    now,
    shutdown,
    counted,
    log,
    onStored,
  } = options;
  const assertSpace = disk?.assertSpace;
  const insert = insertObservations(client, assertSpace);
  const { retryForMs, lingerMs } = TIMES[source];
  const logRetry = (failed: string) => (error: unknown, attempt: number) =>
    log.warn({ err: error, attempt, source }, `${failed}, retrying`);
  return {
    queue: insertQueue({
      async insert(rows, token) {
        await insert(rows, token);
        onStored?.(rows);
      },
      retryForMs,
      lingerMs,
      shutdown,
      onInsert: counted.onInsert,
      onRetry: logRetry("insert failed"),
    }),
    deadLetters: limitedDeadLetterStore(client, {
      source,
      bytesPerDay: deadLetterBytesPerDay,
      now,
      assertSpace,
      retryForMs,
      shutdown,
      ...counted.onDeadLetters(source),
      onRetry: logRetry("storing dead letters failed"),
      log,
    }),
  };
}

/**
 * A request is answered with 503 when the catalogue cannot be read. A message has to wait, or it would end the process.
 */
function retryingCatalogue(catalogue: TagCatalogue, shutdown: AbortSignal, log: Logger): TagCatalogue {
  return {
    ...catalogue,
    refresh: (signal) =>
      retry(catalogue.refresh, {
        forMs: Number.POSITIVE_INFINITY,
        signal: signal === undefined ? shutdown : AbortSignal.any([signal, shutdown]),
        onRetry: (error, attempt) => log.warn({ err: error, attempt }, "reading the tag catalogue failed, retrying"),
      }),
  };
}

async function assertAlive(source: StreamConsumer): Promise<void> {
  if (!source.isAlive()) throw new Error("no fetch or heartbeat for 60 s");
}

type Kafka = {
  readonly source: StreamConsumer;
  readonly produce: Produce;
  readonly topic: string;
  stop(): Promise<void>;
};

async function connectKafka(kafka: KafkaSettings, metrics: IngestMetrics, log: Logger): Promise<Kafka> {
  const { connection, topic, groupId, instanceId, sessionTimeoutMs } = kafka;
  if (kafka.createTopics) await createTopic(kafka, log);
  else await assertTopicsExist(connection, [topic], log);
  const producer = await kafkaProducer(connection, log);
  const source = kafkaConsumer(
    connection,
    {
      topic,
      groupId,
      instanceId,
      sessionTimeoutMs,
      fromBeginning: true,
      recordsIn: mostRecordsIn,
      onRestart: () => metrics.kafkaRestarts.inc(),
    },
    log,
  );
  const lag = pollConsumerLag(connection, kafka, log);
  metrics.gaugeBy(
    "noisefloor_kafka_consumer_lag",
    "Messages of the topic that the consumer group has not committed yet, by partition",
    "partition",
    () => lag.current(),
  );
  return {
    source,
    produce: producer.produce,
    topic,
    async stop() {
      await source.stop();
      await lag.stop();
      await producer.close();
    },
  };
}
