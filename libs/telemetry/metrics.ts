import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { requestMetrics } from "./request-metrics.ts";

export type Metrics = ReturnType<typeof createMetrics>;

export type MetricDescription = {
  readonly name: string;
  /** As Prometheus names it: counter, gauge or histogram. */
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
};

type LabelledValues = Iterable<readonly [label: string, value: number]>;

/**
 * Buckets from a lookup's millisecond, over the intake's time limit of two minutes, to QUERY_TIMEOUT_SECONDS at its
 * maximum.
 */
const DURATION_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
];

/** Node's own metrics. Each collection of them has timers that never end, so a process gets one. */
const nodeRegistry = new Registry();
let isCollecting = false;

/** Every metric of a process. Names and labels are an interface. */
export function createMetrics() {
  // The library's own precision wakes an idle process a hundred times a second.
  if (!isCollecting) collectDefaultMetrics({ register: nodeRegistry, eventLoopMonitoringPrecision: 100 });
  isCollecting = true;
  const registry = new Registry();
  const registers = [registry];
  return {
    /** The body of a scrape, and its media type. */
    text: () => Registry.merge([nodeRegistry, registry]).metrics(),
    contentType: registry.contentType,
    /** Every metric that has been added, Node's own left out. */
    describe: (): MetricDescription[] =>
      registry.getMetricsAsArray().map((metric) => ({
        name: metric.name,
        type: String(metric.type),
        help: metric.help,
        labels: "labelNames" in metric && Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : [],
      })),

    httpRequests: requestMetrics(registers, DURATION_BUCKETS),
    httpRejected: new Counter({
      name: "noisefloor_http_rejected_total",
      help: "Requests and connections rejected to save resources, by reason: too many or too large queries or answers at once, connections, stalled readers",
      labelNames: ["reason"],
      registers,
    }),
    queryDuration: new Histogram({
      name: "noisefloor_store_query_duration_seconds",
      help: "Queries to ClickHouse, until the last row was read, by name and outcome (answered, cancelled, refused, failed)",
      labelNames: ["query", "outcome"],
      buckets: DURATION_BUCKETS,
      registers,
    }),
    lookups: new Counter({
      name: "noisefloor_lookups_total",
      help: "Single addresses looked up in ClickHouse, not in memory; divided by noisefloor_lookup_queries_total, how many shared a query",
      registers,
    }),
    lookupQueries: new Counter({
      name: "noisefloor_lookup_queries_total",
      help: "Queries sent for lookups of single addresses",
      registers,
    }),
    watchEvents: new Counter({
      name: "noisefloor_watch_events_total",
      help: "Events that this process found, by the type of their watch",
      labelNames: ["type"],
      registers,
    }),
    watchDeliveries: new Counter({
      name: "noisefloor_watch_deliveries_total",
      help: "Attempts to deliver an event, by the type of the destination and outcome (delivered, failed)",
      labelNames: ["type", "outcome"],
      registers,
    }),
    lookupsRejected: new Counter({
      name: "noisefloor_lookups_rejected_total",
      help: "Lookups rejected because the plan's limit for the day was reached",
      labelNames: ["plan"],
      registers,
    }),
    ingestRecords: new Counter({
      name: "noisefloor_ingest_records_total",
      help: "Records received, by source (kafka, http, hpfeeds, syslog, follow) and outcome: accepted, ignored, or the reason for which they were rejected",
      labelNames: ["source", "outcome"],
      registers,
    }),
    deadLetterBytes: new Counter({
      name: "noisefloor_dead_letter_bytes_total",
      help: "Bytes of dead letters kept in the table, by source",
      labelNames: ["source"],
      registers,
    }),
    deadLettersNotKept: new Counter({
      name: "noisefloor_dead_letters_not_kept_total",
      help: "Dead letters beyond their sender's quota for the day, which are only counted, by source",
      labelNames: ["source"],
      registers,
    }),
    insertRows: new Histogram({
      name: "noisefloor_insert_rows",
      help: "Observations per insert into ClickHouse",
      buckets: [1, 10, 100, 1_000, 10_000, 25_000, 50_000, 100_000, 200_000],
      registers,
    }),
    insertDuration: new Histogram({
      name: "noisefloor_insert_duration_seconds",
      help: "Inserts into ClickHouse by outcome: stored, transient (retried), data (bad rows searched for), unknown",
      labelNames: ["outcome"],
      buckets: DURATION_BUCKETS,
      registers,
    }),
    kafkaRestarts: new Counter({
      name: "noisefloor_kafka_restarts_total",
      help: "Restarts of the consumer after an error, such as a long outage of the brokers",
      registers,
    }),
    kafkaUnreadable: new Counter({
      name: "noisefloor_kafka_unreadable_messages_total",
      help: "Messages that can never be read: the topic deleted them before they were read, or their batch is damaged",
      labelNames: ["topic"],
      registers,
    }),
    syslogDropped: new Counter({
      name: "noisefloor_syslog_dropped_messages_total",
      help: "Messages and connections of syslog that were dropped, by reason: sender (SYSLOG_SENDERS does not name it), connections (too many), queue-full (the store is too slow), failed (not stored)",
      labelNames: ["reason"],
      registers,
    }),
    databaseReloadFailures: new Counter({
      name: "noisefloor_database_reload_failures_total",
      help: "Times that a database of networks and countries (MMDB_PATHS) could not be read; the earlier one stays in use",
      registers,
    }),
    benignUpdates: new Counter({
      name: "noisefloor_benign_updates_total",
      help: "Unattended updates of the lists of benign services and scan operators, by outcome: updated, failed",
      labelNames: ["outcome"],
      registers,
    }),
    /** Adds a gauge that is read at each scrape, and left out while `read` returns undefined. */
    gauge(name: `noisefloor_${string}`, help: string, read: () => number | undefined): void {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          const value = read();
          if (value === undefined) this.remove();
          else this.set(value);
        },
      });
    },
    /** Adds a gauge with several labels that is read at each scrape. */
    gaugeOf<const Labels extends readonly string[]>(
      name: `noisefloor_${string}`,
      help: string,
      labels: Labels,
      read: () => Iterable<readonly [labels: { readonly [Place in keyof Labels]: string }, value: number]>,
    ): void {
      new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers,
        collect() {
          this.reset();
          for (const [values, value] of read()) this.labels(...values).set(value);
        },
      });
    },
    /** Adds a gauge with one label that is read at each scrape. */
    gaugeBy<Label extends string>(
      name: `noisefloor_${string}`,
      help: string,
      label: Label,
      read: () => LabelledValues | Promise<LabelledValues>,
    ): void {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        async collect() {
          const values = await read();
          this.reset();
          for (const [labelValue, value] of values) this.labels(labelValue).set(value);
        },
      });
    },
  };
}
