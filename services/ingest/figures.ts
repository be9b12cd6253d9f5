import { FAILURE_KINDS } from "@noisefloor/clickhouse/client/errors.ts";
import { REJECTION_REASONS } from "@noisefloor/domain/observation.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { InsertQueueTerms } from "./insert-queue.ts";
import type { BatchDeps, IncomingRecord } from "./pipeline.ts";

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
>;

/**
 * Turns what the intake tells of its work into the figures that a process reports. Every count begins with 0 at the
 * start: of one that first shows with its first burst nobody could tell that it has grown.
 */
export function ingestFigures(metrics: IngestMetrics) {
  let lastInsert: number | undefined;
  metrics.gauge(
    "noisefloor_last_insert_timestamp_seconds",
    "When this process last stored observations, in seconds since 1970; left out before the first time",
    () => lastInsert,
  );
  for (const outcome of ["stored", ...FAILURE_KINDS]) metrics.insertDuration.zero({ outcome });
  const onInsert: NonNullable<InsertQueueTerms["onInsert"]> = (rows, seconds, outcome) => {
    metrics.insertDuration.observe({ outcome }, seconds);
    if (outcome !== "stored") return;
    metrics.insertRows.observe(rows);
    lastInsert = Date.now() / 1_000;
  };
  const onOutcome = (source: string): NonNullable<BatchDeps<IncomingRecord>["onOutcome"]> => {
    for (const outcome of ["accepted", ...REJECTION_REASONS]) metrics.ingestRecords.inc({ source, outcome }, 0);
    return (outcome, records) => metrics.ingestRecords.inc({ source, outcome }, records);
  };
  const onLetters = (source: string) => {
    metrics.deadLetterBytes.inc({ source }, 0);
    metrics.deadLettersNotKept.inc({ source }, 0);
    return {
      onKept: (bytes: number) => metrics.deadLetterBytes.inc({ source }, bytes),
      onNotKept: (records: number) => metrics.deadLettersNotKept.inc({ source }, records),
    };
  };
  return { onInsert, onOutcome, onLetters };
}
