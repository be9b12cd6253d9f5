import { setTimeout as sleep } from "node:timers/promises";
import type { RejectionReason } from "@noisefloor/domain/observation.ts";
import { type BatchDeps, countReasons, ingestBatch } from "./pipeline.ts";
import type { ReplayRecord } from "./sources/file.ts";

/** What a batch holds, unless a single record is larger: lines may be long, and the store takes a batch as one string. */
const BATCH_RECORDS = 25_000;
const BATCH_BYTES = 32 * 1024 * 1024;
/** Batches on their way to the store while the next one is read. */
const BATCHES_UNDER_WAY = 2;

export type ReplayDeps = Omit<BatchDeps<ReplayRecord>, "signal"> & {
  /** Observations per second; as fast as it goes when absent. */
  readonly rate?: number | undefined;
  /** So many records refused, and none accepted, and the rest will hardly do better: nothing more is read. */
  readonly stopAfterRefused?: number | undefined;
  /** Records refused for this do not count towards that: of a long file only the end may be young enough. */
  readonly expectedReason?: RejectionReason | undefined;
  readonly onProgress?: (summary: ReplaySummary) => void;
  /** Aborted, nothing more is read; what was read is still brought in. */
  readonly stop?: AbortSignal;
};

export type ReplaySummary = {
  read: number;
  /** Stored, or acknowledged by the brokers. */
  accepted: number;
  rejected: number;
  reasons: Record<string, number>;
  /** Whether it ended before the last record, for nothing was accepted. */
  isHopeless: boolean;
  readonly startedAt: number;
};

/** A replay that did not reach the end; the cause says why, the summary what was done all the same. */
export class ReplayError extends Error {
  override name = "ReplayError";
  readonly summary: ReplaySummary;

  constructor(summary: ReplaySummary, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.summary = summary;
  }
}

/**
 * Brings records in batch by batch. When it resolves, everything read is accepted or kept as a dead letter.
 * @throws ReplayError when the records cannot be read to their end, or not be stored.
 */
export async function replay(records: AsyncIterable<ReplayRecord>, deps: ReplayDeps): Promise<ReplaySummary> {
  const summary: ReplaySummary = {
    read: 0,
    accepted: 0,
    rejected: 0,
    reasons: {},
    isHopeless: false,
    startedAt: deps.now(),
  };
  const underWay = new Set<Promise<void>>();
  let failure: unknown;
  let batch: ReplayRecord[] = [];
  let batchBytes = 0;
  const batchSize = Math.max(1, Math.min(BATCH_RECORDS, deps.rate ?? BATCH_RECORDS));

  const send = async (of: readonly ReplayRecord[]) => {
    const { accepted, rejected } = await ingestBatch(of, deps);
    summary.accepted += accepted;
    summary.rejected += rejected.length;
    for (const [reason, count] of countReasons(rejected)) {
      summary.reasons[reason] = (summary.reasons[reason] ?? 0) + count;
    }
    deps.onProgress?.(summary);
  };
  const flush = async () => {
    const full = batch;
    batch = [];
    batchBytes = 0;
    const sending: Promise<void> = send(full)
      .catch((error: unknown) => {
        failure ??= error;
      })
      .finally(() => underWay.delete(sending));
    underWay.add(sending);
    const { stopAfterRefused } = deps;
    const isDoubtful = stopAfterRefused !== undefined && summary.accepted === 0;
    if (isDoubtful) await Promise.all(underWay);
    else if (underWay.size >= BATCHES_UNDER_WAY) await Promise.race(underWay);
    if (failure !== undefined) throw failure;
    const expected = deps.expectedReason === undefined ? 0 : (summary.reasons[deps.expectedReason] ?? 0);
    summary.isHopeless = isDoubtful && summary.accepted === 0 && summary.rejected - expected >= stopAfterRefused;
    if (deps.rate !== undefined) await keepRate(summary, deps.rate, deps.now());
  };

  try {
    for await (const record of records) {
      if (deps.stop?.aborted || summary.isHopeless) break;
      if (batch.length > 0 && batchBytes + record.bytes.length > BATCH_BYTES) await flush();
      summary.read++;
      batch.push(record);
      batchBytes += record.bytes.length;
      // Until something was accepted a batch holds no more than may be refused.
      const most = summary.accepted === 0 ? Math.min(batchSize, deps.stopAfterRefused ?? batchSize) : batchSize;
      if (batch.length >= most) await flush();
    }
  } catch (error) {
    failure ??= error;
  }
  // Also after a failure: what could be read is stored, and nothing is left under way.
  if (batch.length > 0) await flush().catch(() => {});
  await Promise.all(underWay);
  if (failure !== undefined) throw new ReplayError(summary, failure);
  return summary;
}

/** Waits until as much time has passed as the records read so far take at this rate. */
async function keepRate(summary: ReplaySummary, rate: number, now: number): Promise<void> {
  const due = summary.startedAt + (summary.read / rate) * 1_000;
  if (due > now) await sleep(due - now);
}
