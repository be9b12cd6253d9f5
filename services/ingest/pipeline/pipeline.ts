import type { Rejection, RejectionReason } from "@noisefloor/domain/observation/observation.ts";
import type { AcceptedRecord, IncomingRecord, IngestedRecords, RejectedRecord } from "../record.ts";
import { makeRows } from "../rows/make-rows.ts";
import type { Sink } from "../store/sink.ts";
import { boundDetail, type ValidationOptions, validateBatch } from "./validate.ts";

export type BatchOptions<R extends IncomingRecord> = ValidationOptions & {
  readonly sink: Sink;
  /** Resolves when the dead letters of these records are stored. */
  readonly storeDeadLetters: (rejected: readonly RejectedRecord<R>[]) => Promise<void>;
};

/** A batch on its way. Each promise rejects when the batch fails. */
export type IngestingBatch<R extends IncomingRecord> = {
  /** Resolves when nothing but waiting for the store is left to do: the next batch may be prepared meanwhile. */
  readonly prepared: Promise<unknown>;
  /** Resolves when each record is stored, as a row or as a dead letter. Only then may its source forget the batch. */
  readonly stored: Promise<IngestedRecords<R>>;
};

/**
 * The way of a batch that its source (`sources/`) has decoded (`formats/`): its records are validated, the good ones
 * become rows (`rows/`), which the sink stores (`store/`), and the others are stored as dead letters. Then the source
 * commits. A sink that publishes to a topic takes the records themselves: the topic's consumer makes their rows. When
 * the signal aborts (the batch comes again elsewhere), the steps that have not begun are left out.
 */
export function ingestBatch<R extends IncomingRecord>(
  records: readonly R[],
  options: BatchOptions<R>,
): IngestingBatch<R> {
  const prepared = prepare(records, options);
  const stored = prepared.then((batch) => store(batch, options));
  // Whoever waits for the first alone learns of its failure there.
  stored.catch(() => {});
  return { prepared, stored };
}

type PreparedBatch<R extends IncomingRecord> = IngestedRecords<R> & { readonly storeAccepted: StoreAccepted };

async function prepare<R extends IncomingRecord>(
  records: readonly R[],
  options: BatchOptions<R>,
): Promise<PreparedBatch<R>> {
  const { accepted: inOrder, rejected } = await validateBatch(records, options);
  const accepted = lateLast(inOrder);
  options.signal?.throwIfAborted();
  // HTTP clients resend a whole request with new ids when it fails: nothing may fail after the good records are stored.
  if (rejected.length > 0) await options.storeDeadLetters(rejected);
  return { accepted, rejected, storeAccepted: await prepareAccepted(accepted, options.sink) };
}

/**
 * Stores prepared records. @returns those that the server refuses for their data: the reason by the record's index.
 * @param signal aborted when the sender no longer waits: what is not sent yet is dropped, and nothing is retried.
 */
export type StoreAccepted = (signal?: AbortSignal) => Promise<ReadonlyMap<number, string>>;

/**
 * Makes the rows of accepted records, for a sink that stores rows. The records of one session are one row: they are
 * refused together. @returns what stores them, which must be called, once: until then their sessions are held.
 */
export async function prepareAccepted(
  accepted: readonly AcceptedRecord<IncomingRecord>[],
  sink: Sink,
): Promise<StoreAccepted> {
  if ("publish" in sink) {
    return async () => {
      await sink.publish(accepted);
      return new Map();
    };
  }
  const { rows, release } = await makeRows(accepted, sink.rows);
  return async (signal) => {
    try {
      signal?.throwIfAborted();
      const bytes = accepted.reduce((sum, { record }) => sum + record.bytes.length, 0);
      const refused = await sink.store([...new Set(rows)], bytes, signal);
      const byRecord = new Map<number, string>();
      for (const [index, row] of refused.size === 0 ? [] : rows.entries()) {
        const detail = refused.get(row);
        if (detail !== undefined) byRecord.set(index, detail);
      }
      return byRecord;
    } finally {
      release();
    }
  };
}

/** A session has the time of its first record: one that gave up waiting must not be it, if another came along. */
function lateLast<R extends IncomingRecord>(accepted: readonly AcceptedRecord<R>[]): readonly AcceptedRecord<R>[] {
  const late = accepted.filter(({ record }) => record.isLate);
  return late.length === 0 ? accepted : [...accepted.filter(({ record }) => !record.isLate), ...late];
}

async function store<R extends IncomingRecord>(
  { accepted, rejected, storeAccepted }: PreparedBatch<R>,
  { signal, storeDeadLetters }: BatchOptions<R>,
): Promise<IngestedRecords<R>> {
  const refused = await storeAccepted(signal);
  if (refused.size === 0) return { accepted, rejected };
  const rejectedByStore = accepted.flatMap(({ record, valid }, index): RejectedRecord<R>[] => {
    const detail = refused.get(index);
    if (detail === undefined) return [];
    const rejection = boundDetail({ reason: "rejected-by-store", detail });
    return [{ record, rejection, sensorId: valid.observation.sensor_id }];
  });
  await storeDeadLetters(rejectedByStore);
  return {
    accepted: accepted.filter((_record, index) => !refused.has(index)),
    rejected: [...rejected, ...rejectedByStore],
  };
}

/** How many were rejected for each reason. */
export function countReasons(
  rejected: readonly { readonly rejection: Rejection }[],
): ReadonlyMap<RejectionReason, number> {
  const counts = new Map<RejectionReason, number>();
  for (const { rejection } of rejected) counts.set(rejection.reason, (counts.get(rejection.reason) ?? 0) + 1);
  return counts;
}
