import { setTimeout as sleep } from "node:timers/promises";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import { createRecordPace } from "@noisefloor/domain/time/yield.ts";
import type { SimulationTarget } from "./targets/target.ts";

/** Small enough that the batches in memory, one being made and the others being sent, fit into a machine of 512 MiB. */
const BATCH = 10_000;
const MAX_SENDING = 2;

export type SendOptions = {
  readonly target: SimulationTarget;
  /** Aborted, nothing more is made; what was made is still sent. */
  readonly signal: AbortSignal;
  /** Called with the time up to which observations were sent, in milliseconds since 1970 UTC. */
  readonly onProgress?: (time: number, sent: number) => void;
};

export type SendSummary = { made: number; accepted: number };

/** Sends observations as fast as the target takes them. */
export async function sendAll(
  observations: Iterable<ValidObservation>,
  { target, signal, onProgress = () => {} }: SendOptions,
): Promise<SendSummary> {
  const summary = { made: 0, accepted: 0 };
  const sending = new Set<Promise<void>>();
  let failure: unknown;
  let batch: ValidObservation[] = [];
  const flush = async () => {
    const full = batch;
    batch = [];
    const sent: Promise<void> = target
      .send(full)
      .then((accepted) => {
        summary.accepted += accepted;
        onProgress(full.at(-1)?.observedAt ?? 0, summary.accepted);
      })
      .catch((error: unknown) => {
        failure ??= error;
      })
      .finally(() => sending.delete(sent));
    sending.add(sent);
    if (sending.size >= MAX_SENDING) await Promise.race(sending);
    if (failure !== undefined) throw failure;
  };
  const pace = createRecordPace();
  for (const observation of observations) {
    if (signal.aborted) break;
    // Yields to the services of the same process.
    const pause = pace(0);
    if (pause !== undefined) await pause;
    summary.made++;
    batch.push(observation);
    if (batch.length >= BATCH) await flush();
  }
  if (batch.length > 0) await flush();
  await Promise.all(sending);
  if (failure !== undefined) throw failure;
  return summary;
}

const TICK_MS = 250;

/** Sends observations when they happen. @param now the clock, in milliseconds since 1970 UTC. */
export async function sendLive(
  observations: Iterable<ValidObservation>,
  { target, signal, onProgress = () => {}, now }: SendOptions & { readonly now: () => number },
): Promise<SendSummary> {
  const summary = { made: 0, accepted: 0 };
  let due: ValidObservation[] = [];
  const flush = async () => {
    if (due.length === 0) return;
    const some = due;
    due = [];
    summary.accepted += await target.send(some);
    onProgress(some.at(-1)?.observedAt ?? 0, summary.accepted);
  };
  for (const observation of observations) {
    while (observation.observedAt > now() && !signal.aborted) {
      await flush();
      await sleep(TICK_MS, undefined, { signal }).catch(() => {});
    }
    if (signal.aborted) break;
    summary.made++;
    due.push(observation);
    if (due.length >= BATCH) await flush();
  }
  await flush();
  return summary;
}
