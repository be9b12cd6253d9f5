import { setMaxListeners } from "node:events";
import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import type { DiskGuard } from "@noisefloor/clickhouse/server/disk-space.ts";
import { writeConsumerLag } from "@noisefloor/clickhouse/tables/consumer-lag.ts";
import { readSessions } from "@noisefloor/clickhouse/tables/sessions.ts";
import { compileSchema } from "@noisefloor/domain/observation/compiled-schema.ts";
import type { Operation } from "@noisefloor/http/operation.ts";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import type { DeadLetterStore } from "./dead-letters/dead-letter.ts";
import { limitedDeadLetterStore } from "./dead-letters/quota.ts";
import { findFormats } from "./formats/all.ts";
import type { DecodeOptions, LogFormat } from "./formats/format.ts";
import { type IngestMetrics, ingestMetrics } from "./metrics.ts";
import { retry } from "./retry.ts";
import type { RowOptions } from "./rows/make-rows.ts";
import type { ObservationRow } from "./rows/observation-row.ts";
import { createSessions, retryingSessions } from "./rows/sessions/sessions.ts";
import { createActivityCounter } from "./sensor-counts/counter.ts";
import { storeActivity } from "./sensor-counts/store.ts";
import { startHpfeedsIngest } from "./sources/hpfeeds/source.ts";
import type { HpfeedsSettings, Subscriber } from "./sources/hpfeeds/subscriber.ts";
import {
  getSplunkHealth,
  getSplunkHealthVersioned,
  postObservationLines,
  postObservations,
  postSplunkEvents,
  postSplunkEventsUnversioned,
  postSplunkEventsVersioned,
  postTpotBatch,
} from "./sources/http/operation.ts";
import { isIntakeOpen, type SensorKeys } from "./sources/http/senders.ts";
import { registerIntake } from "./sources/http/source.ts";
import { connectTopics, type KafkaSettings } from "./sources/kafka/connect.ts";
import { startKafkaIngest } from "./sources/kafka/source.ts";
import { clickhouseSink, insertObservations } from "./store/insert.ts";
import { type InsertQueue, insertQueue } from "./store/insert-queue.ts";
import { kafkaSink } from "./store/publish.ts";
import { openInsertQueue } from "./store/sharded-queue.ts";

export type IngestOptions = SensorKeys & {
  readonly client: ClickHouseClient;
  /** Every format that senders may name. */
  readonly formats: readonly LogFormat[];
  readonly decode: DecodeOptions;
  readonly catalogue: TagCatalogue;
  readonly retentionDays: () => number;
  /** How rows are made; without it observations are stored as their senders describe them. */
  readonly rows?: Omit<RowOptions, "sessions"> | undefined;
  /** Without it nothing is rejected for want of space. */
  readonly disk?: DiskGuard | undefined;
  /** What the dead letters of one sender, or of Kafka as a whole, may take a UTC day. */
  readonly deadLetterBytesPerDay?: number | undefined;
  /** What all HTTP requests in memory may take together; 128 MiB unless given. */
  readonly requestMemoryBytes?: number | undefined;
  /** How often the counts by sensor are stored; every ten seconds unless given. */
  readonly activityFlushMs?: number | undefined;
  /** Without it HTTP and files are the only sources. */
  readonly kafka: KafkaSettings | undefined;
  /** A broker to subscribe to. */
  readonly hpfeeds?: HpfeedsSettings | undefined;
  /** Called with the rows of each insert that has succeeded. Their senders wait until it resolves. */
  readonly onStored?: ((rows: readonly ObservationRow[]) => Promise<void>) | undefined;
  readonly metrics: IngestMetrics;
  readonly log: Logger;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
};

/** Every operation of the intake. */
export const INGEST_OPERATIONS: readonly Operation[] = [
  postObservations,
  postObservationLines,
  postTpotBatch,
  postSplunkEvents,
  postSplunkEventsUnversioned,
  postSplunkEventsVersioned,
  getSplunkHealth,
  getSplunkHealthVersioned,
];

/**
 * An HTTP request is answered with 503 when the store is away for so long. Kafka waits without end, for it would
 * deliver the same messages again, and so does hpfeeds, whose broker delivers nothing again. Their rows may also wait
 * longer for a larger insert, as no client waits for an answer.
 */
const TIMES = {
  http: { retryForMs: 10_000, intervalMs: 50 },
  kafka: { retryForMs: Number.POSITIVE_INFINITY, intervalMs: 1_000 },
  hpfeeds: { retryForMs: Number.POSITIVE_INFINITY, intervalMs: 1_000 },
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
  compileSchema();
  const counted = ingestMetrics(metrics);
  const kafka =
    options.kafka === undefined ? undefined : await connectTopics(options.kafka, metrics, log, storeLag(options));
  const shutdown = new AbortController();
  // Each request that waits for the store listens to it; Node would warn of a leak from the eleventh on.
  setMaxListeners(0, shutdown.signal);
  const createFor = (source: Source) => createStores(source, { ...options, counted, shutdown: shutdown.signal });
  const sessions = createSessions((wanted, times) => readSessions(options.client, wanted, times));
  const rowsFor = (source: Source): RowOptions => ({
    ...options.rows,
    sessions: retryingSessions(sessions, {
      forMs: TIMES[source].retryForMs,
      signal: shutdown.signal,
      onRetry: (error, attempt) => log.warn({ err: error, attempt, source }, "reading sessions failed, retrying"),
    }),
  });
  const http = createFor("http");
  const stream = kafka && { ...kafka, ...createFor("kafka") };
  let feed: (Stores & { subscriber: Subscriber | undefined }) | undefined;
  const validation = { retentionDays, now };
  const counter = createActivityCounter(now);
  const activity = { http: counter.of("http"), kafka: counter.of("kafka"), hpfeeds: counter.of("hpfeeds") };
  const storedActivity = storeActivity(counter, options.client, log, options.activityFlushMs);
  return {
    failure: kafka?.failure ?? new Promise<never>(() => {}),
    checks: {
      ...(kafka !== undefined && { kafka: kafka.assertAlive }),
      ...(options.disk !== undefined && { disk: async () => options.disk?.assertSpace() }),
    },
    register(app) {
      registerIntake(app, {
        ...validation,
        catalogue,
        sensorKeys: options.sensorKeys,
        sensors: options.sensors,
        isWorkspaceKey: options.isWorkspaceKey,
        formats: options.formats,
        decode: options.decode,
        onIgnored: counted.onIgnored("http"),
        sink: kafka === undefined ? clickhouseSink(http.queue, rowsFor("http")) : kafkaSink(kafka.produce, kafka.topic),
        deadLetters: http.deadLetters,
        // With Kafka, the brokers store what is published until ClickHouse has space again.
        assertSpace: kafka === undefined ? options.disk?.assertSpace : undefined,
        memoryBytes: options.requestMemoryBytes,
        onOutcome: counted.onOutcome("http"),
        activity: activity.http,
      });
    },
    isOpen: () => isIntakeOpen(options),
    async start() {
      if (options.hpfeeds !== undefined) {
        feed = { ...createFor("hpfeeds"), subscriber: undefined };
        feed.subscriber = startHpfeedsIngest({
          ...validation,
          settings: options.hpfeeds,
          catalogue: retryingCatalogue(catalogue, shutdown.signal, log),
          decode: options.decode,
          sink:
            kafka === undefined
              ? clickhouseSink(feed.queue, rowsFor("hpfeeds"))
              : kafkaSink(kafka.produce, kafka.topic),
          deadLetters: feed.deadLetters,
          onOutcome: counted.onOutcome("hpfeeds"),
          onIgnored: counted.onIgnored("hpfeeds"),
          activity: activity.hpfeeds,
          metrics,
          log,
        });
      }
      if (stream === undefined) return;
      const counting = { onOutcome: counted.onOutcome("kafka"), onIgnored: counted.onIgnored("kafka") };
      for (const { source, format } of stream.topics) {
        const formats = format === undefined ? undefined : findFormats(format, options.formats);
        await startKafkaIngest({
          ...validation,
          catalogue: retryingCatalogue(catalogue, shutdown.signal, log),
          source,
          raw: formats && { formats, decode: options.decode, onIgnored: counting.onIgnored },
          sink: clickhouseSink(stream.queue, rowsFor("kafka")),
          deadLetters: stream.deadLetters,
          onOutcome: counting.onOutcome,
          activity: activity.kafka,
          log,
        });
      }
    },
    async stop() {
      shutdown.abort();
      await feed?.subscriber?.stop();
      await stream?.stop();
      await storedActivity.close();
    },
  };
}

/** Stores the lag, so that the page of the sensors can say it. It is seen again soon, so a failure is no harm. */
function storeLag({ client, now, log }: IngestOptions) {
  return (topic: string, messages: number): void => {
    writeConsumerLag(client, { topic, messages, at: now() }).catch((error: unknown) =>
      log.debug({ err: error, topic }, "storing the consumer lag failed"),
    );
  };
}

/** Where the records of one source go. */
type Stores = { readonly queue: InsertQueue<ObservationRow>; readonly deadLetters: DeadLetterStore };

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
    metrics,
    log,
    onStored,
  } = options;
  const assertSpace = disk?.assertSpace;
  const { retryForMs, intervalMs } = TIMES[source];
  const logRetry = (failed: string) => (error: unknown, attempt: number) =>
    log.warn({ err: error, attempt, source }, `${failed}, retrying`);
  const onRetry = logRetry("insert failed");
  const openQueue = (server: ClickHouseClient) => {
    const insert = insertObservations(server, assertSpace);
    return insertQueue<ObservationRow>({
      async insert(rows, token) {
        await insert(rows, token);
        await onStored?.(rows);
      },
      retryForMs,
      intervalMs,
      shutdown,
      onInsert: counted.onInsert,
      onRetry,
    });
  };
  return {
    queue: openInsertQueue(client, openQueue, { forMs: retryForMs, signal: shutdown, onRetry }),
    deadLetters: limitedDeadLetterStore(client, {
      source,
      bytesPerDay: deadLetterBytesPerDay,
      now,
      assertSpace,
      retryForMs,
      shutdown,
      metrics,
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
