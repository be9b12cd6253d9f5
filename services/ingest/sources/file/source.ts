import { setTimeout as sleep } from "node:timers/promises";
import type { RejectionReason } from "@noisefloor/domain/observation/observation.ts";
import { explainRejection } from "../../formats/explain-rejection.ts";
import { type BatchOptions, countReasons, ingestBatch } from "../../pipeline/pipeline.ts";
import type { RejectedRecord } from "../../record.ts";
import type { SourceCounts } from "../../sensor-counts/counter.ts";
import type { ReplayRecord } from "./records.ts";

/** A batch is no larger, unless a single record is: lines may be long, and an insert is one string in memory. */
const BATCH_RECORDS = 25_000;
const BATCH_BYTES = 32 * 1024 * 1024;
/** Batches that are being stored while the next one is read. */
const CONCURRENT_BATCHES = 2;

export type ReplayOptions = Omit<BatchOptions<ReplayRecord>, "signal" | "explain"> & {
  /** Observations per second; left out, as fast as possible. */
  readonly rate?: number | undefined;
  /** Reading stops after this number of rejected records without an accepted one: something is wrong with all of them. */
  readonly stopAfterRejected?: number | undefined;
  readonly counts: SourceCounts;
  readonly onProgress?: (summary: ReplaySummary) => void;
  /** No record that was read waits longer for its batch to be full, in milliseconds; left out, any time. */
  readonly maxWaitMs?: number | undefined;
  /** The summary of an earlier part of the same replay, which goes on. */
  readonly summary?: ReplaySummary | undefined;
  /** Aborted, nothing more is read; what was read is still stored. */
  readonly stop?: AbortSignal;
};

/** Only the end of a long log may be young enough: older records are no fault, and become no dead letters. */
export const EXPIRED: RejectionReason = "older-than-retention";
export const isFaulty = ({ rejection }: RejectedRecord<ReplayRecord>) => rejection.reason !== EXPIRED;

export type ReplaySummary = {
  read: number;
  /** Stored, alone or as a part of their session's observation, or acknowledged by the brokers. */
  accepted: number;
  rejected: number;
  reasons: Record<string, number>;
  /** Records of a sensor's log that are no observations, and those that are {@link EXPIRED}, by reason. */
  ignored: Record<string, number>;
  /** Whether it ended before the last record, because nothing was accepted. */
  isHopeless: boolean;
  readonly startedAt: number;
};

/** A replay that did not reach the end. The cause says why, the summary what was stored before. */
export class ReplayError extends Error {
  override name = "ReplayError";
  readonly summary: ReplaySummary;

  constructor(summary: ReplaySummary, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.summary = summary;
  }
}

export function startSummary(startedAt: number): ReplaySummary {
  return { read: 0, accepted: 0, rejected: 0, reasons: {}, ignored: {}, isHopeless: false, startedAt };
}

/**
 * Ingests records batch by batch. When it resolves, each record is accepted, ignored or stored as a dead letter.
 * @throws ReplayError when the records cannot be read to their end, or not be stored.
 */
export async function replay(records: AsyncIterable<ReplayRecord>, options: ReplayOptions): Promise<ReplaySummary> {
  const summary = options.summary ?? startSummary(options.now());
  const sending = new Set<Promise<void>>();
  let failure: unknown;
  let batch: ReplayRecord[] = [];
  let batchBytes = 0;
  const batchSize = Math.max(1, Math.min(BATCH_RECORDS, options.rate ?? BATCH_RECORDS));

  const count = (counts: Record<string, number>, reason: string, records: number) => {
    counts[reason] = (counts[reason] ?? 0) + records;
  };
  const ignore = (reason: string, records: number) => {
    count(summary.ignored, reason, records);
    options.counts.addIgnored(new Map([[reason, records]]), {});
  };
  const batchOptions: BatchOptions<ReplayRecord> = {
    ...options,
    explain: explainRejection,
    storeDeadLetters: async (rejected) => {
      const faulty = rejected.filter(isFaulty);
      if (faulty.length > 0) await options.storeDeadLetters(faulty);
    },
  };
  const send = async (some: readonly ReplayRecord[]) => {
    const { accepted, rejected } = await ingestBatch(some, batchOptions).stored;
    const faulty = rejected.filter(isFaulty);
    options.counts.add({ accepted, rejected: faulty }, {});
    summary.accepted += accepted.length;
    summary.rejected += faulty.length;
    for (const [reason, records] of countReasons(faulty)) count(summary.reasons, reason, records);
    if (faulty.length < rejected.length) ignore(EXPIRED, rejected.length - faulty.length);
    options.onProgress?.(summary);
  };
  const flush = async () => {
    const full = batch;
    batch = [];
    batchBytes = 0;
    const sent: Promise<void> = send(full)
      .catch((error: unknown) => {
        failure ??= error;
      })
      .finally(() => sending.delete(sent));
    sending.add(sent);
    const { stopAfterRejected, rate } = options;
    const isDoubtful = stopAfterRejected !== undefined && summary.accepted === 0;
    if (isDoubtful) await Promise.all(sending);
    else if (sending.size >= CONCURRENT_BATCHES) await Promise.race(sending);
    if (failure !== undefined) throw failure;
    summary.isHopeless = isDoubtful && summary.accepted === 0 && summary.rejected >= stopAfterRejected;
    if (rate !== undefined) await keepRate(summary, rate, options.now());
  };

  // A batch that failed is known by `failure`, and the next record ends the replay.
  const flushWaiting = () => void (batch.length > 0 && sending.size === 0 && flush().catch(() => {}));
  const timer = options.maxWaitMs === undefined ? undefined : setInterval(flushWaiting, options.maxWaitMs);
  try {
    for await (const record of records) {
      if (failure !== undefined) break;
      if (options.stop?.aborted || summary.isHopeless) break;
      if (batch.length > 0 && batchBytes + record.bytes.length > BATCH_BYTES) await flush();
      summary.read++;
      if (record.ignored !== undefined) {
        ignore(record.ignored, 1);
        continue;
      }
      batch.push(record);
      batchBytes += record.bytes.length;
      // Until something was accepted, a batch holds no more than may be rejected.
      const maxRecords =
        summary.accepted === 0 ? Math.min(batchSize, options.stopAfterRejected ?? batchSize) : batchSize;
      if (batch.length >= maxRecords) await flush();
    }
  } catch (error) {
    failure ??= error;
  } finally {
    clearInterval(timer);
  }
  // Also after a failure: what could be read is stored.
  if (batch.length > 0) await flush().catch(() => {});
  await Promise.all(sending);
  if (failure !== undefined) throw new ReplayError(summary, failure);
  return summary;
}

/** Waits until the records read so far are due at this rate. */
async function keepRate(summary: ReplaySummary, rate: number, now: number): Promise<void> {
  const due = summary.startedAt + (summary.read / rate) * 1_000;
  if (due > now) await sleep(due - now);
}
