import { setTimeout as sleep } from "node:timers/promises";
import { failureKind } from "@noisefloor/clickhouse/client/errors.ts";

export type BackoffOptions = {
  /** For how long to retry. */
  readonly forMs: number;
  /** Whether a failure may pass by itself. Left out, ClickHouse's error codes decide. */
  readonly isTransient?: (error: unknown) => boolean;
  /** Aborted, nothing is retried any more, and a pause ends. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each retry, with the failure and the number of the attempt that had it. */
  readonly onRetry?: ((error: unknown, attempt: number) => void) | undefined;
};

const MAX_PAUSE_MS = 5_000;

/**
 * Retries transient failures with growing pauses. Their random part keeps many clients from coming back at the same
 * moment. The first attempt is made in any case.
 * @throws the last failure, when it is not transient, the time is over or the signal aborts.
 */
export async function retry<T>(action: () => Promise<T>, options: BackoffOptions): Promise<T> {
  const { isTransient = (error) => failureKind(error) === "transient", signal, onRetry } = options;
  const deadline = Date.now() + options.forMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await action();
    } catch (error) {
      const pause = Math.min(MAX_PAUSE_MS, 100 * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);
      if (!isTransient(error) || signal?.aborted || Date.now() + pause > deadline) throw error;
      onRetry?.(error, attempt);
      await sleep(pause, undefined, { signal }).catch(() => {});
      if (signal?.aborted) throw error;
    }
  }
}

/** Resolves as the promise does, unless the signal aborts first. @throws the signal's reason. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
