import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

export type Metrics = ReturnType<typeof createMetrics>;

type Figures = Iterable<readonly [value: string, figure: number]>;

/**
 * From a millisecond, a lookup's, over the two minutes for which the intake waits for its store, to the ten that
 * QUERY_TIMEOUT_SECONDS allows.
 */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** Every figure that a process tells Prometheus, besides those of Node itself. Names and labels are an interface. */
export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    /** What to answer a scrape with, and its media type. */
    text: () => registry.metrics(),
    contentType: registry.contentType,

    httpRequests: new Counter({
      name: "noisefloor_http_requests_total",
      help: "Requests answered, by operation and status; 499 means that the client went away first",
      labelNames: ["operation", "status"],
      registers,
    }),
    httpDuration: new Histogram({
      name: "noisefloor_http_request_duration_seconds",
      help: "From a request's header to the end of its answer",
      labelNames: ["operation"],
      buckets: SECONDS,
      registers,
    }),
    httpRejected: new Counter({
      name: "noisefloor_http_rejected_total",
      help: "Requests and connections rejected for what they take, by reason: too many or too large questions or answers at once, connections, stalled readers",
      labelNames: ["reason"],
      registers,
    }),
    queryDuration: new Histogram({
      name: "noisefloor_store_query_duration_seconds",
      help: "Queries to ClickHouse, until the last row was read, by name and outcome (answered, cancelled, failed)",
      labelNames: ["query", "outcome"],
      buckets: SECONDS,
      registers,
    }),
    lookups: new Counter({
      name: "noisefloor_lookups_total",
      help: "Single addresses looked up in ClickHouse, not in memory; divided by noisefloor_lookup_queries_total, how many shared a query",
      registers,
    }),
    lookupQueries: new Counter({
      name: "noisefloor_lookup_queries_total",
      help: "Queries that lookups of single addresses took",
      registers,
    }),
    lookupsRefused: new Counter({
      name: "noisefloor_lookups_refused_total",
      help: "Lookups refused because the plan's limit for the day was reached",
      labelNames: ["plan"],
      registers,
    }),
    ingestRecords: new Counter({
      name: "noisefloor_ingest_records_total",
      help: "Records taken in, by source (kafka, http) and outcome: accepted, or the reason for which they were rejected",
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
      help: "Dead letters beyond their sender's quota for the day, of which only counts and samples are kept, by source",
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
      help: "Inserts into ClickHouse by outcome: stored, transient (tried again), data (bad rows looked for), unknown",
      labelNames: ["outcome"],
      buckets: SECONDS,
      registers,
    }),
    kafkaRestarts: new Counter({
      name: "noisefloor_kafka_restarts_total",
      help: "How often the consumer began anew after an error, as when the brokers are away for long",
      registers,
    }),
    /** Adds a figure that is read anew at each scrape, and is left out while there is none. */
    gauge(name: `noisefloor_${string}`, help: string, read: () => number | undefined): void {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          const figure = read();
          if (figure === undefined) this.remove();
          else this.set(figure);
        },
      });
    },
    /** Adds figures by one label that are read anew at each scrape. */
    gaugeBy<Label extends string>(
      name: `noisefloor_${string}`,
      help: string,
      label: Label,
      read: () => Figures | Promise<Figures>,
    ): void {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        async collect() {
          const figures = await read();
          this.reset();
          for (const [value, figure] of figures) this.labels(value).set(figure);
        },
      });
    },
  };
}
