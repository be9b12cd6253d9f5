import { FAILURE_KINDS } from "@noisefloor/clickhouse/client/errors.ts";
import { REJECTION_REASONS } from "@noisefloor/domain/observation/observation.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { BatchOptions } from "./pipeline.ts";
import type { IncomingRecord } from "./record.ts";
import type { OnInsert } from "./store/insert-queue.ts";

export type IngestMetrics = Pick<
  Metrics,
  | "ingestRecords"
  | "deadLetterBytes"
  | "deadLettersNotKept"
  | "insertRows"
  | "insertDuration"
  | "gauge"
  | "gaugeBy"
  | "kafkaRestarts"
  | "databaseReloadFailures"
>;

/**
 * The callbacks that count the intake's work. Every counter starts at 0: Prometheus cannot see the increase of one that
 * first appears with its first events.
 */
export function ingestMetrics(metrics: IngestMetrics) {
  let lastInsert: number | undefined;
  metrics.gauge(
    "noisefloor_last_insert_timestamp_seconds",
    "When this process last stored observations, in seconds since 1970; absent before the first insert",
    () => lastInsert,
  );
  for (const outcome of ["stored", ...FAILURE_KINDS]) metrics.insertDuration.zero({ outcome });
  const onInsert: OnInsert = (rows, seconds, outcome) => {
    metrics.insertDuration.observe({ outcome }, seconds);
    if (outcome !== "stored") return;
    metrics.insertRows.observe(rows);
    lastInsert = Date.now() / 1_000;
  };
  const onOutcome = (source: string): NonNullable<BatchOptions<IncomingRecord>["onOutcome"]> => {
    for (const outcome of ["accepted", ...REJECTION_REASONS]) metrics.ingestRecords.inc({ source, outcome }, 0);
    return (outcome, records) => metrics.ingestRecords.inc({ source, outcome }, records);
  };
  /** Records of a sensor's log that are no observations, whatever the reason. */
  const onIgnored = (source: string) => {
    metrics.ingestRecords.inc({ source, outcome: "ignored" }, 0);
    return (_reason: string, records: number) => metrics.ingestRecords.inc({ source, outcome: "ignored" }, records);
  };
  return { onInsert, onOutcome, onIgnored };
}
