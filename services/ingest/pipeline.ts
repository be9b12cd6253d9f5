import type { Rejection, RejectionReason } from "@noisefloor/domain/observation/observation.ts";
import type { AcceptedRecord, IncomingRecord, RejectedRecord, Sink } from "./record.ts";
import { type ValidationOptions, validateBatch } from "./validate.ts";

export type BatchOptions<R extends IncomingRecord> = ValidationOptions & {
  readonly sink: Sink<R>;
  /** Resolves when the dead letters of these records are stored. */
  readonly storeDeadLetters: (rejected: readonly RejectedRecord<R>[]) => Promise<void>;
  /**
   * HTTP clients resend a whole request with new ids when it fails, so dead letters are stored before the good records:
   * nothing may fail after those.
   */
  readonly deadLettersFirst?: boolean;
  /** More records follow behind the batch, as soon as it is done. */
  readonly hasMore?: boolean;
  /** Called when nothing but waiting for the store is left to do; perhaps never, when the batch fails. */
  readonly onWaiting?: (() => void) | undefined;
  /** Called with how many records had each outcome. */
  readonly onOutcome?: ((outcome: "accepted" | RejectionReason, records: number) => void) | undefined;
  /** Called with what became of the records, for counts by sensor. */
  readonly onRecords?: ((records: IngestedRecords<R>) => void) | undefined;
};

export type IngestedRecords<R extends IncomingRecord> = {
  readonly accepted: readonly AcceptedRecord<R>[];
  readonly rejected: readonly RejectedRecord<R>[];
};

export type BatchResult<R extends IncomingRecord> = {
  readonly accepted: number;
  readonly rejected: readonly RejectedRecord<R>[];
};

/**
 * Validates a batch, sends what is good to the sink and stores the rest as dead letters. A source may forget a batch
 * only when this resolves: a dead letter that cannot be stored blocks its batch as a good record does. When the signal
 * aborts (the batch comes again elsewhere), the steps that have not begun are left out.
 */
export async function ingestBatch<R extends IncomingRecord>(
  records: readonly R[],
  options: BatchOptions<R>,
): Promise<BatchResult<R>> {
  const { sink, deadLettersFirst, signal, hasMore, onWaiting, onOutcome, onRecords } = options;
  const storeDeadLetters = async (some: readonly RejectedRecord<R>[]) => {
    if (some.length > 0) await options.storeDeadLetters(some);
  };
  const validated = await validateBatch(records, options);
  signal?.throwIfAborted();
  if (deadLettersFirst) await storeDeadLetters(validated.rejected);
  const rejectedBySink = await sink(validated, { signal, hasMore, onWaiting });
  signal?.throwIfAborted();
  const rejected = [...validated.rejected, ...rejectedBySink];
  await storeDeadLetters(deadLettersFirst ? rejectedBySink : rejected);
  const accepted = validated.accepted.length - rejectedBySink.length;
  onOutcome?.("accepted", accepted);
  for (const [reason, count] of countReasons(rejected)) onOutcome?.(reason, count);
  onRecords?.({ accepted: withoutRejected(validated.accepted, rejectedBySink), rejected });
  return { accepted, rejected };
}

function withoutRejected<R extends IncomingRecord>(
  accepted: readonly AcceptedRecord<R>[],
  rejected: readonly RejectedRecord<R>[],
): readonly AcceptedRecord<R>[] {
  if (rejected.length === 0) return accepted;
  const records = new Set(rejected.map(({ record }) => record));
  return accepted.filter(({ record }) => !records.has(record));
}

/** How many were rejected for each reason. */
export function countReasons(
  rejected: readonly { readonly rejection: Rejection }[],
): ReadonlyMap<RejectionReason, number> {
  const counts = new Map<RejectionReason, number>();
  for (const { rejection } of rejected) counts.set(rejection.reason, (counts.get(rejection.reason) ?? 0) + 1);
  return counts;
}
