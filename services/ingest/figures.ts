import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { InsertQueueTerms } from "./insert-queue.ts";
import type { BatchDeps, IncomingRecord } from "./pipeline.ts";

export type IngestMetrics = Pick<
  Metrics,
  "ingestRecords" | "insertRows" | "insertDuration" | "lastInsert" | "gaugeBy" | "kafkaRestarts"
>;

/** Turns what the intake tells of its work into the figures that a process reports. */
export function ingestFigures(metrics: IngestMetrics) {
  const onInsert: NonNullable<InsertQueueTerms["onInsert"]> = (rows, seconds, outcome) => {
    metrics.insertDuration.observe({ outcome }, seconds);
    if (outcome !== "stored") return;
    metrics.insertRows.observe(rows);
    metrics.lastInsert.setToCurrentTime();
  };
  const onOutcome = (source: string): NonNullable<BatchDeps<IncomingRecord>["onOutcome"]> => {
    return (outcome, records) => metrics.ingestRecords.inc({ source, outcome }, records);
  };
  return { onInsert, onOutcome };
}
