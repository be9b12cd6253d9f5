import type { Rejection, RejectionReason } from "@noisefloor/domain/observation/observation.ts";
import type { AcceptedRecord, IncomingRecord, IngestedRecords, RejectedRecord } from "../record.ts";
import type { PreparedRecords, Sink } from "../store/sink.ts";
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
 * The way of a batch that its source (`sources/`) has decoded (`formats/`): its records are validated, the sink makes
 * rows of the good ones (`rows/`) and stores them (`store/`), and the others are stored as dead letters. Then the
 * source commits. When the signal aborts (the batch comes again elsewhere), the steps that have not begun are left out.
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

type PreparedBatch<R extends IncomingRecord> = IngestedRecords<R> & { readonly rows: PreparedRecords };

async function prepare<R extends IncomingRecord>(
  records: readonly R[],
  options: BatchOptions<R>,
): Promise<PreparedBatch<R>> {
  const { accepted: inOrder, rejected } = await validateBatch(records, options);
  const accepted = lateLast(inOrder);
  options.signal?.throwIfAborted();
  // HTTP clients resend a whole request with new ids when it fails: nothing may fail after the good records are stored.
  if (rejected.length > 0) await options.storeDeadLetters(rejected);
  return { accepted, rejected, rows: await options.sink(accepted) };
}

/** A session has the time of its first record: one that gave up waiting must not be it, if another came along. */
function lateLast<R extends IncomingRecord>(accepted: readonly AcceptedRecord<R>[]): readonly AcceptedRecord<R>[] {
  const late = accepted.filter(({ record }) => record.isLate);
  return late.length === 0 ? accepted : [...accepted.filter(({ record }) => !record.isLate), ...late];
}

async function store<R extends IncomingRecord>(
  { accepted, rejected, rows }: PreparedBatch<R>,
  { signal, storeDeadLetters }: BatchOptions<R>,
): Promise<IngestedRecords<R>> {
  const refused = await rows.store(signal);
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
