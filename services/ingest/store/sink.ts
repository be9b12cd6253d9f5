import type { AcceptedRecord, IncomingRecord } from "../record.ts";
import type { RowOptions } from "../rows/make-rows.ts";
import type { ObservationRow } from "../rows/observation-row.ts";

/** Where accepted records go: their rows into the store, or the records themselves into a topic. */
export type Sink = RowSink | RecordSink;

export type RowSink = {
  /** How rows are made of the records. */
  readonly rows: RowOptions;
  /**
   * Resolves when the rows can be read. @returns those that the server refuses for their data, with the reason.
   * @param bytes about how much memory the rows take.
   * @param signal aborted when the sender no longer waits: what is not sent yet is dropped, and nothing is retried.
   */
  store(
    rows: readonly ObservationRow[],
    bytes: number,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<ObservationRow, string>>;
};

export type RecordSink = {
  /** Resolves when the records are safe. */
  publish(accepted: readonly AcceptedRecord<IncomingRecord>[]): Promise<void>;
};

/** Stores nothing, for a dry run. */
export const drySink: RecordSink = { publish: async () => {} };
