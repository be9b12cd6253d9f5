import { setImmediate as breathe } from "node:timers/promises";
import type { TagCatalogue } from "@noisefloor/clickhouse/tag-catalogue.ts";
import {
  type Rejection,
  type RejectionReason,
  type ValidationCriteria,
  type ValidObservation,
  validateObservation,
} from "@noisefloor/domain/observation.ts";
import type { PublishRight } from "@noisefloor/domain/publishing.ts";
import { parseRecord } from "./decode.ts";
import type { HandOverTerms, InsertQueue } from "./insert-queue.ts";
import { observationIdOf } from "./record-id.ts";
import { resolveTags } from "./tagger.ts";
import { type ObservationRow, toRow } from "./writer.ts";

const MAX_DETAIL_LENGTH = 500;
/** How much is judged before others get their turn. Bytes count too: few records can be as much work as many. */
const AT_A_STRETCH = { records: 2_000, bytes: 1024 * 1024 };

/** One record on its way in. */
export type IncomingRecord = {
  /** The bytes as they came, for the dead letter. */
  readonly bytes: Buffer;
  /** What the observation is called when its sensor gave it no id. Redelivery must lead to the same one. */
  readonly fallbackId: string;
  /** The key within which the id that its sensor gave it is unique; left out where its sensor alone is. */
  readonly idNamespace?: string | undefined;
  /** The observation taken out of `bytes`, when they are in a format other than ours or do not say where it belongs. */
  readonly value?: unknown;
};

export type RejectedRecord<R extends IncomingRecord> = { readonly record: R; readonly rejection: Rejection };

/** What became of each record of a batch. */
export type Judged<R extends IncomingRecord> = {
  readonly rows: readonly ObservationRow[];
  /** With a value where the publisher's right said what their bytes leave out. */
  readonly accepted: readonly R[];
  readonly rejected: readonly RejectedRecord<R>[];
};

export type JudgeDeps = {
  readonly catalogue: TagCatalogue;
  /** As it holds now. */
  readonly retentionDays: () => number;
  /** Where whoever sent the records may write. */
  readonly right: PublishRight;
  /** The one sensor that their sender's key was made for; left out when it may send for any. */
  readonly sensorId?: string | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Ends the wait for a catalogue that cannot be read. */
  readonly signal?: AbortSignal;
};

/**
 * Decides for each record: store it, or reject it with a reason. A tag that is not known is looked for once more in a
 * fresh catalogue, for it may have been imported a moment ago.
 */
export async function judge<R extends IncomingRecord>(records: readonly R[], deps: JudgeDeps): Promise<Judged<R>> {
  const terms = { now: deps.now(), retentionDays: deps.retentionDays(), right: deps.right, sensorId: deps.sensorId };
  let isFresh = false;
  const rows: ObservationRow[] = [];
  const accepted: R[] = [];
  const rejected: RejectedRecord<R>[] = [];
  let stretch = { records: 0, bytes: 0 };
  for (const record of records) {
    // A large batch must not keep the process from answering others meanwhile.
    if (stretch.records >= AT_A_STRETCH.records || stretch.bytes >= AT_A_STRETCH.bytes) {
      await breathe();
      stretch = { records: 0, bytes: 0 };
    }
    stretch.records++;
    stretch.bytes += record.bytes.length;
    let verdict = judgeOne(record, deps.catalogue, terms);
    if ("reason" in verdict && verdict.reason === "unknown-tag" && !isFresh) {
      await deps.catalogue.refresh(deps.signal);
      isFresh = true;
      verdict = judgeOne(record, deps.catalogue, terms);
    }
    if ("reason" in verdict) rejected.push({ record, rejection: tell(verdict) });
    else {
      rows.push(verdict.row);
      accepted.push(verdict.isFilledIn ? { ...record, value: verdict.observation } : record);
    }
  }
  return { rows, accepted, rejected };
}

/** A detail may quote the record: cut to a sentence's length, and such that every home of dead letters can keep it. */
function tell({ reason, detail }: Rejection): Rejection {
  return { reason, detail: detail.slice(0, MAX_DETAIL_LENGTH).toWellFormed() };
}

function judgeOne(
  record: IncomingRecord,
  catalogue: TagCatalogue,
  terms: ValidationCriteria,
): (ValidObservation & { readonly row: ObservationRow }) | Rejection {
  const parsed = record.value === undefined ? parseRecord(record.bytes) : { value: record.value };
  if ("reason" in parsed) return parsed;
  const verdict = validateObservation(parsed.value, terms);
  if ("reason" in verdict) return verdict;
  const tagIds = resolveTags(catalogue, verdict.observation.tags);
  if ("reason" in tagIds) return tagIds;
  return { ...verdict, row: toRow(verdict, observationIdOf(verdict.observation.observation_id, record), tagIds) };
}

/** Keeps rejected records where somebody can look at them. When it resolves they are kept. */
export type KeepDeadLetters<R extends IncomingRecord> = (rejected: readonly RejectedRecord<R>[]) => Promise<void>;

/**
 * Takes what was judged good to where it belongs. Resolves once it is safe there, with what was refused there after all.
 */
export type Accept<R extends IncomingRecord> = (
  judged: Judged<R>,
  terms?: HandOverTerms,
) => Promise<readonly RejectedRecord<R>[]>;

/** What became of a batch: each of its records is one or the other. */
export type Outcome<R extends IncomingRecord> = {
  readonly accepted: number;
  readonly rejected: readonly RejectedRecord<R>[];
};

export type BatchDeps<R extends IncomingRecord> = JudgeDeps & {
  readonly accept: Accept<R>;
  readonly keepDeadLetters: KeepDeadLetters<R>;
  /**
   * For a sender who sends everything again, under no name that it had before, when told that something failed: nothing
   * may fail any more once the good records are stored.
   */
  readonly keepsRejectedFirst?: boolean;
  /** Aborted when nobody waits for the batch any more, for it comes again elsewhere: what has not begun is left. */
  readonly signal?: AbortSignal;
  /** More is waiting behind the batch, and comes only when it is done. */
  readonly hasMore?: boolean;
  /** Hears how many records came to which end. */
  readonly onOutcome?: ((outcome: "accepted" | RejectionReason, records: number) => void) | undefined;
};

/**
 * A batch brought in: good records first, then its dead letters, unless told otherwise. Only when it resolves may its source forget it: a dead
 * letter that cannot be kept holds up its batch as a good record does.
 */
export async function ingestBatch<R extends IncomingRecord>(
  records: readonly R[],
  deps: BatchDeps<R>,
): Promise<Outcome<R>> {
  const judged = await judge(records, deps);
  deps.signal?.throwIfAborted();
  if (deps.keepsRejectedFirst) await keep(judged.rejected, deps);
  const refused = await deps.accept(judged, deps);
  deps.signal?.throwIfAborted();
  const rejected = [...judged.rejected, ...refused];
  await keep(deps.keepsRejectedFirst ? refused : rejected, deps);
  const accepted = judged.accepted.length - refused.length;
  deps.onOutcome?.("accepted", accepted);
  for (const [reason, count] of countReasons(rejected)) deps.onOutcome?.(reason, count);
  return { accepted, rejected };
}

async function keep<R extends IncomingRecord>(
  rejected: readonly RejectedRecord<R>[],
  deps: BatchDeps<R>,
): Promise<void> {
  if (rejected.length > 0) await deps.keepDeadLetters(rejected);
}

/** Stores what was judged good in ClickHouse. */
export function acceptInto<R extends IncomingRecord>(queue: InsertQueue): Accept<R> {
  return async ({ rows, accepted }, { signal, hasMore } = {}) => {
    const bytes = accepted.reduce((sum, record) => sum + record.bytes.length, 0);
    const refused = await queue.store(rows, bytes, { signal, hasMore });
    return refused.flatMap(({ index, detail }) => {
      const record = accepted[index];
      return record === undefined ? [] : [{ record, rejection: tell({ reason: "refused-by-store", detail }) }];
    });
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
