import { setTimeout as sleep } from "node:timers/promises";
import { countReasons, type JudgeDeps, type Judged, judge, type KeepDeadLetters } from "./pipeline.ts";
import type { ReplayRecord } from "./sources/file.ts";

const BATCH_RECORDS = 25_000;
/** Batches on their way to the store while the next one is read. */
const BATCHES_UNDER_WAY = 2;

export type ReplayDeps = JudgeDeps & {
  readonly accept: (judged: Judged<ReplayRecord>) => Promise<void>;
  readonly keepDeadLetters: KeepDeadLetters<ReplayRecord>;
  /** Observations per second; as fast as it goes when absent. */
  readonly rate?: number | undefined;
  readonly onProgress?: (summary: ReplaySummary) => void;
  readonly signal?: AbortSignal;
};

export type ReplaySummary = {
  read: number;
  /** Stored, or acknowledged by the brokers. */
  accepted: number;
  rejected: number;
  reasons: Record<string, number>;
  readonly startedAt: number;
};

/** Brings records in batch by batch. When it resolves, everything read is accepted or kept as a dead letter. */
export async function replay(records: AsyncIterable<ReplayRecord>, deps: ReplayDeps): Promise<ReplaySummary> {
  const summary: ReplaySummary = { read: 0, accepted: 0, rejected: 0, reasons: {}, startedAt: deps.now() };
  const underWay = new Set<Promise<void>>();
  let failure: unknown;
  let batch: ReplayRecord[] = [];
  const batchSize = Math.max(1, Math.min(BATCH_RECORDS, deps.rate ?? BATCH_RECORDS));

  const send = async (of: readonly ReplayRecord[]) => {
    const judged = await judge(of, deps);
    await deps.accept(judged);
    if (judged.rejected.length > 0) await deps.keepDeadLetters(judged.rejected);
    summary.accepted += judged.accepted.length;
    summary.rejected += judged.rejected.length;
    for (const [reason, count] of Object.entries(countReasons(judged.rejected))) {
      summary.reasons[reason] = (summary.reasons[reason] ?? 0) + count;
    }
    deps.onProgress?.(summary);
  };
  const flush = async () => {
    const full = batch;
    batch = [];
    const sending: Promise<void> = send(full)
      .catch((error: unknown) => {
        failure ??= error;
      })
      .finally(() => underWay.delete(sending));
    underWay.add(sending);
    if (underWay.size >= BATCHES_UNDER_WAY) await Promise.race(underWay);
    if (failure !== undefined) throw failure;
    if (deps.rate !== undefined) await keepRate(summary, deps.rate, deps.now());
  };

  for await (const record of records) {
    if (deps.signal?.aborted) break;
    summary.read++;
    batch.push(record);
    if (batch.length >= batchSize) await flush();
  }
  if (batch.length > 0) await flush();
  await Promise.all(underWay);
  if (failure !== undefined) throw failure;
  return summary;
}

/** Waits until as much time has passed as the records read so far take at this rate. */
async function keepRate(summary: ReplaySummary, rate: number, now: number): Promise<void> {
  const due = summary.startedAt + (summary.read / rate) * 1_000;
  if (due > now) await sleep(due - now);
}
