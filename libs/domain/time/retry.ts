/** How pauses grow: each is twice as long as the one before it, from `firstMs` up to `maxMs`. */
export type Pauses = { readonly firstMs: number; readonly maxMs: number };

export type RetryOptions = {
  /** For how long to retry, in milliseconds. */
  readonly forMs: number;
  /** Whether a failure may pass by itself. */
  readonly isTransient: (error: unknown) => boolean;
  readonly pauses?: Pauses;
  /** Aborted, nothing is retried any more, and a pause ends. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each pause, with the failure and the number of the attempt that had it, from 1. */
  readonly onRetry?: ((error: unknown, attempt: number) => void) | undefined;
};

const PAUSES: Pauses = { firstMs: 200, maxMs: 5_000 };

/**
 * Milliseconds to wait after an attempt that failed. Half of it is chance, so that many clients do not come back at the
 * same moment.
 * @param attempt its number, from 1. @param chance from 0 to 1.
 */
export function pauseAfter(attempt: number, { firstMs, maxMs }: Pauses, chance = Math.random()): number {
  return Math.min(maxMs, firstMs * 2 ** (attempt - 1)) * (0.5 + chance / 2);
}

/**
 * Retries transient failures with growing pauses. The first attempt is made in any case.
 *
 * Not for waiting until something has happened, which is no failure, nor for work that goes on after it succeeded
 * (`repeatEvery`).
 * @throws the last failure, when it is not transient, the time is over or the signal aborts.
 */
export async function retry<T>(action: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { isTransient, pauses = PAUSES, signal, onRetry } = options;
  const deadline = performance.now() + options.forMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await action();
    } catch (error) {
      const pause = pauseAfter(attempt, pauses);
      if (!isTransient(error) || signal?.aborted || performance.now() + pause > deadline) throw error;
      onRetry?.(error, attempt);
      await sleepUnlessAborted(pause, signal);
      if (signal?.aborted) throw error;
    }
  }
}

function sleepUnlessAborted(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    if (signal?.aborted) end();
    else signal?.addEventListener("abort", end, { once: true });
  });
}
