import type { AcceptedRecord, IncomingRecord } from "../record.ts";

/** Where accepted records go. It resolves when nothing but waiting for the store is left to do. */
export type Sink = (accepted: readonly AcceptedRecord<IncomingRecord>[]) => Promise<PreparedRecords>;

export type PreparedRecords = {
  /**
   * Must be called, once. Resolves when the records are safe. @returns those that the server refuses for their data:
   * the reason by the record's index.
   * @param signal aborted when the sender no longer waits: what is not sent yet is dropped, and nothing is retried.
   */
  store(signal?: AbortSignal): Promise<RefusedRecords>;
};

export type RefusedRecords = ReadonlyMap<number, string>;

const NONE: RefusedRecords = new Map();

/** Stores nothing, for a dry run. */
export const drySink: Sink = async () => ({ store: async () => NONE });
