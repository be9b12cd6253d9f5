import type { SourceCounts } from "@noisefloor/ingest/sensor-counts/counter.ts";

/** Counts nothing, for tests of something else. */
export const noCounts: SourceCounts = { add() {}, addIgnored() {} };
