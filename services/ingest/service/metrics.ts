import { FAILURE_KINDS, failureKind } from "@noisefloor/clickhouse/client/errors.ts";
import { REJECTION_REASONS } from "@noisefloor/domain/observation/observation.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import { sumOf } from "../formats/ignored.ts";
import { countReasons } from "../pipeline/pipeline.ts";
import type { SensorCounter, SourceCounts } from "../sensor-counts/counter.ts";
import type { Insert } from "../store/insert-queue.ts";

export type IngestMetrics = Pick<
  Metrics,
  | "ingestRecords"
  | "deadLetterBytes"
  | "deadLettersNotKept"
  | "insertRows"
  | "insertDuration"
  | "gauge"
  | "gaugeBy"
  | "gaugeOf"
  | "kafkaRestarts"
  | "kafkaUnreadable"
  | "syslogDropped"
  | "databaseReloadFailures"
>;

/**
 * Counts what became of the records of a source, by reason in metrics and by sensor. Every counter starts at 0:
 * Prometheus cannot see the increase of one that first appears with its first events.
 */
export function sourceCounts(
  source: string,
  { ingestRecords }: Pick<IngestMetrics, "ingestRecords">,
  counter: SensorCounter,
): SourceCounts {
  const bySensor = counter.of(source);
  const count = (outcome: string, records: number) => ingestRecords.inc({ source, outcome }, records);
  for (const outcome of ["accepted", "ignored", ...REJECTION_REASONS]) count(outcome, 0);
  return {
    add(records, sender) {
      count("accepted", records.accepted.length);
      for (const [reason, rejected] of countReasons(records.rejected)) count(reason, rejected);
      bySensor.add(records, sender);
    },
    addIgnored(counts, sender) {
      count("ignored", sumOf(counts));
      bySensor.addIgnored(counts, sender);
    },
  };
}

/** Measures each attempt of an insert that the server has answered. */
export function measureInserts<Row>(
  metrics: Pick<IngestMetrics, "gauge" | "insertDuration" | "insertRows">,
): (insert: Insert<Row>) => Insert<Row> {
  let lastInsert: number | undefined;
  metrics.gauge(
    "noisefloor_last_insert_timestamp_seconds",
    "When this process last stored observations, in seconds since 1970; absent before the first insert",
    () => lastInsert,
  );
  for (const outcome of ["stored", ...FAILURE_KINDS]) metrics.insertDuration.zero({ outcome });
  return (insert) => async (rows, token) => {
    const start = performance.now();
    const observe = (outcome: string) =>
      metrics.insertDuration.observe({ outcome }, (performance.now() - start) / 1_000);
    try {
      await insert(rows, token);
    } catch (error) {
      observe(failureKind(error));
      throw error;
    }
    observe("stored");
    metrics.insertRows.observe(rows.length);
    lastInsert = Date.now() / 1_000;
  };
}
