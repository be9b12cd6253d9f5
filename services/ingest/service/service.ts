import { setMaxListeners } from "node:events";
import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { isTransient } from "@noisefloor/clickhouse/client/errors.ts";
import { followedFiles } from "@noisefloor/clickhouse/intake/followed-files.ts";
import { consumerLag } from "@noisefloor/clickhouse/sensors/consumer-lag.ts";
import { assertClock } from "@noisefloor/clickhouse/server/clock.ts";
import type { DiskGuard } from "@noisefloor/clickhouse/server/disk-space.ts";
import { compileSchema } from "@noisefloor/domain/observation/compiled-schema.ts";
import { retry } from "@noisefloor/domain/time/retry.ts";
import type { Operation } from "@noisefloor/http/operations/operation.ts";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { limitedDeadLetterStore } from "../dead-letters/quota.ts";
import { findFormats } from "../formats/all.ts";
import type { DecodeOptions, LogFormat } from "../formats/format.ts";
import type { RowOptions } from "../rows/make-rows.ts";
import type { ObservationRow } from "../rows/observation-row.ts";
import { createSensorCounter } from "../sensor-counts/counter.ts";
import { storeSensorCounts } from "../sensor-counts/store.ts";
import { ELASTICSEARCH_OPERATIONS } from "../sources/elasticsearch/operation.ts";
import { registerElasticsearch } from "../sources/elasticsearch/source.ts";
import type { FollowTarget } from "../sources/follow/files/targets.ts";
import type { Follower } from "../sources/follow/follower.ts";
import { getFollowed, registerFollowed } from "../sources/follow/operation.ts";
import { measureFollower, startFollowIngest } from "../sources/follow/source.ts";
import { startHpfeedsIngest } from "../sources/hpfeeds/source.ts";
import type { HpfeedsSettings, Subscriber } from "../sources/hpfeeds/subscriber.ts";
import { openHttpIntake } from "../sources/http/intake.ts";
import { OBSERVATIONS_OPERATIONS } from "../sources/http/operation.ts";
import { openRequests } from "../sources/http/requests.ts";
import { isIntakeOpen, type SensorKeys } from "../sources/http/senders.ts";
import { registerObservations } from "../sources/http/source.ts";
import { connectTopics, type KafkaSettings } from "../sources/kafka/connect.ts";
import { startKafkaIngest } from "../sources/kafka/source.ts";
import { postLokiStreams } from "../sources/loki/operation.ts";
import { registerLoki } from "../sources/loki/source.ts";
import { postOtlpLogs } from "../sources/otlp/operation.ts";
import { registerOtlp } from "../sources/otlp/source.ts";
import type { SourceOptions } from "../sources/source-options.ts";
import { SPLUNK_OPERATIONS } from "../sources/splunk/operation.ts";
import { registerSplunk } from "../sources/splunk/source.ts";
import { type SyslogIngest, type SyslogSettings, startSyslogIngest } from "../sources/syslog/source.ts";
import type { Insert } from "../store/insert-queue.ts";
import { observationSink, storedSessions } from "../store/observation-sink.ts";
import { topicSink } from "../store/topic-sink.ts";
import { type IngestMetrics, measureInserts, sourceCounts } from "./metrics.ts";

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
  /** How far the store's clock is ahead of ours, in milliseconds. Without it nothing is rejected for that. */
  readonly storeSkewMs?: (() => number) | undefined;
  /** What the dead letters of one sender, or of Kafka as a whole, may take a UTC day. */
  readonly deadLetterBytesPerDay?: number | undefined;
  /** What all HTTP requests in memory may take together; 128 MiB unless given. */
  readonly requestMemoryBytes?: number | undefined;
  /** How often the counts by sensor are stored; every ten seconds unless given. */
  readonly sensorCountsFlushMs?: number | undefined;
  /** Without it HTTP and files are the only sources. */
  readonly kafka: KafkaSettings | undefined;
  /** Files to follow. */
  readonly follow?: readonly FollowTarget[] | undefined;
  /** A broker to subscribe to. */
  readonly hpfeeds?: HpfeedsSettings | undefined;
  /** A port to listen on. */
  readonly syslog?: SyslogSettings | undefined;
  /** Records stored rows, so that lookups of this process find them before the next poll. Their senders wait for it. */
  readonly index?: { record(rows: readonly ObservationRow[]): Promise<void> } | undefined;
  readonly metrics: IngestMetrics;
  readonly log: Logger;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
};

/** Every operation of the intake. */
export const INGEST_OPERATIONS: readonly Operation[] = [
  ...OBSERVATIONS_OPERATIONS,
  ...SPLUNK_OPERATIONS,
  ...ELASTICSEARCH_OPERATIONS,
  postOtlpLogs,
  postLokiStreams,
  getFollowed,
];

const PROTOCOLS = [registerObservations, registerSplunk, registerElasticsearch, registerOtlp, registerLoki];

/**
 * An HTTP request is answered with 503 when the store is away for so long. Kafka waits without end, for it would
 * deliver the same messages again. Followed files, hpfeeds and syslog wait without end too: hpfeeds and syslog send nothing
 * twice. Their rows may also wait longer for a larger insert, as no client waits for an answer.
 */
const TIMES = {
  http: { retryForMs: 10_000, intervalMs: 50 },
  kafka: { retryForMs: Number.POSITIVE_INFINITY, intervalMs: 1_000 },
  hpfeeds: { retryForMs: Number.POSITIVE_INFINITY, intervalMs: 1_000 },
  syslog: { retryForMs: Number.POSITIVE_INFINITY, intervalMs: 1_000 },
  follow: { retryForMs: Number.POSITIVE_INFINITY, intervalMs: 1_000 },
} as const;
type Source = keyof typeof TIMES;

/** The process may have come up before a store that restarts. */
const WITHOUT_END = { isTransient, forMs: Number.POSITIVE_INFINITY };

export type Ingest = {
  /** Where syslog is listened to; undefined before the start, and where it is not. */
  syslogPort(): number | undefined;
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
  const { client, formats, decode, disk, now, metrics, log } = options;
  compileSchema();
  const kafka =
    options.kafka === undefined ? undefined : await connectTopics(options.kafka, metrics, log, storeLag(options));
  const shutdown = new AbortController();
  // Each request that waits for the store listens to it; Node would warn of a leak from the eleventh on.
  setMaxListeners(0, shutdown.signal);
  const counter = createSensorCounter(now);
  const storedCounts = storeSensorCounts(counter, client, log, options.sensorCountsFlushMs);
  const assertClocks = () => {
    assertClock("ClickHouse", options.storeSkewMs?.());
    assertClock("Kafka", kafka?.skewMs());
  };
  const assertStorable = () => {
    assertClocks();
    disk?.assertSpace();
  };
  const openStore = storeOpener({ ...options, assertSpace: assertStorable, shutdown: shutdown.signal });
  const patientCatalogue = retryingCatalogue(options.catalogue, shutdown.signal, log);
  const openSource = (source: Source): SourceOptions => {
    const { openSink, deadLetters } = openStore(source);
    return {
      catalogue: source === "http" ? options.catalogue : patientCatalogue,
      retentionDays: options.retentionDays,
      now,
      log,
      sink: kafka === undefined || source === "kafka" ? openSink() : topicSink(kafka.produce, kafka.topic),
      deadLetters,
      counts: sourceCounts(source, metrics, counter),
    };
  };
  let subscriber: Subscriber | undefined;
  let syslog: SyslogIngest | undefined;
  let follower: Follower | undefined;
  const followed = () => follower?.files() ?? [];
  return {
    failure: kafka?.failure ?? new Promise<never>(() => {}),
    checks: {
      ...(kafka !== undefined && { kafka: kafka.assertAlive }),
      ...(disk !== undefined && { disk: async () => disk.assertSpace() }),
      clock: async () => assertClocks(),
    },
    register(app) {
      const intake = openHttpIntake({
        ...openSource("http"),
        sensorKeys: options.sensorKeys,
        accessCache: options.accessCache,
        formats,
        decode,
        requests: openRequests(client, { now, log }),
        // With Kafka, the brokers store what is published until ClickHouse has space again.
        assertSpace: kafka === undefined ? assertStorable : assertClocks,
        memoryBytes: options.requestMemoryBytes,
      });
      for (const registerProtocol of PROTOCOLS) registerProtocol(app, intake);
      registerFollowed(app, { ...options, files: followed });
    },
    isOpen: () => isIntakeOpen(options),
    syslogPort: () => syslog?.port,
    async start() {
      if (options.hpfeeds !== undefined) {
        subscriber = startHpfeedsIngest({ ...openSource("hpfeeds"), settings: options.hpfeeds, decode, metrics });
      }
      if (options.syslog !== undefined) {
        const dropped = metrics.syslogDropped;
        syslog = await startSyslogIngest({
          ...openSource("syslog"),
          settings: options.syslog,
          formats,
          decode,
          dropped,
        });
      }
      if (options.follow !== undefined && options.follow.length > 0) {
        measureFollower(followed, metrics);
        follower = await startFollowIngest({
          ...openSource("follow"),
          targets: options.follow,
          positions: {
            read: () => retry(() => followedFiles.read(client), { ...WITHOUT_END, signal: shutdown.signal }),
            write: (files) => followedFiles.write(client, files),
          },
        });
      }
      if (kafka === undefined) return;
      const way = openSource("kafka");
      for (const { source, format } of kafka.topics) {
        const named = format === undefined ? undefined : findFormats(format, formats);
        const onUnreadable = (topic: string, messages: number) => metrics.kafkaUnreadable.inc({ topic }, messages);
        await startKafkaIngest({ ...way, source, raw: named && { formats: named, decode }, onUnreadable });
      }
    },
    async stop() {
      await syslog?.stop();
      shutdown.abort();
      await Promise.all([subscriber?.stop(), follower?.stop()]);
      await kafka?.stop();
      await storedCounts.close();
    },
  };
}

/** Stores the lag, so that the page of the sensors can say it. It is seen again soon, so a failure is no harm. */
function storeLag({ client, now, log }: IngestOptions) {
  return (topic: string, messages: number): void => {
    consumerLag
      .write(client, [{ topic, messages, seenAt: now() }])
      .catch((error: unknown) => log.debug({ err: error, topic }, "storing the consumer lag failed"));
  };
}

/** @returns what opens the ways of a source's records into the store. */
function storeOpener(options: IngestOptions & { readonly shutdown: AbortSignal; readonly assertSpace: () => void }) {
  const { client, assertSpace, deadLetterBytesPerDay, index, now, shutdown, metrics, log } = options;
  const sessions = storedSessions(client);
  const measure = measureInserts<ObservationRow>(metrics);
  const wrapInsert = (insert: Insert<ObservationRow>): Insert<ObservationRow> => {
    const measured = measure(insert);
    return async (rows, token) => {
      await measured(rows, token);
      await index?.record(rows);
    };
  };
  return (source: Source) => {
    const { retryForMs, intervalMs } = TIMES[source];
    const logRetry = (failed: string) => (error: unknown, attempt: number) =>
      log.warn({ err: error, attempt, source }, `${failed}, retrying`);
    const common = { assertSpace, retryForMs, shutdown };
    return {
      openSink: () =>
        observationSink(client, {
          ...{ ...common, intervalMs, sessions, wrapInsert, logRetry, rows: options.rows },
        }),
      deadLetters: limitedDeadLetterStore(client, {
        ...{ ...common, source: source === "follow" ? "file" : source, now, metrics, log },
        bytesPerDay: deadLetterBytesPerDay ?? Number.POSITIVE_INFINITY,
        onRetry: logRetry("storing dead letters failed"),
      }),
    };
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
        isTransient,
        forMs: Number.POSITIVE_INFINITY,
        signal: signal === undefined ? shutdown : AbortSignal.any([signal, shutdown]),
        onRetry: (error, attempt) => log.warn({ err: error, attempt }, "reading the tag catalogue failed, retrying"),
      }),
  };
}
