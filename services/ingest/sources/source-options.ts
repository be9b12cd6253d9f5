import type { Logger } from "pino";
import type { DeadLetterStore } from "../dead-letters/dead-letter.ts";
import type { BatchOptions } from "../pipeline/pipeline.ts";
import type { IncomingRecord } from "../record.ts";
import type { SourceCounts } from "../sensor-counts/counter.ts";

/** What the way of a source's records needs. */
export type SourceOptions = Pick<BatchOptions<IncomingRecord>, "catalogue" | "retentionDays" | "now" | "sink"> & {
  readonly deadLetters: DeadLetterStore;
  readonly counts: SourceCounts;
  readonly log: Logger;
};
