import { setTimeout as sleep } from "node:timers/promises";
import { failureKind } from "@noisefloor/clickhouse/client/errors.ts";

/** How long to go on trying while the store, or whatever else it is, cannot be reached or is overloaded. */
export type Patience = {
  readonly forMs: number;
  /** Is it a failure that passes by itself? As the store's errors tell, when left out. */
  readonly isTransient?: (error: unknown) => boolean;
  /** Asked before each further try. */
  readonly hasGivenUp?: () => boolean;
  /** Hears why there is another try, with its number. */
  readonly onWait?: ((error: unknown, attempt: number) => void) | undefined;
};

const LONGEST_PAUSE_MS = 5_000;

/**
 * Tries again, with growing pauses of random length so that not everybody comes back at the same moment, while the
 * failure is one that passes by itself. Rejects with the last error when it is not, or when patience has run out.
 */
export async function patiently<T>(action: () => Promise<T>, patience: Patience): Promise<T> {
  const deadline = Date.now() + patience.forMs;
  const isTransient = patience.isTransient ?? ((error: unknown) => failureKind(error) === "transient");
  for (let attempt = 1; ; attempt++) {
    try {
      return await action();
    } catch (error) {
      const pause = Math.min(LONGEST_PAUSE_MS, 100 * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);
      const hasGivenUp = () => patience.hasGivenUp?.() === true;
      if (!isTransient(error) || hasGivenUp() || Date.now() + pause > deadline) throw error;
      patience.onWait?.(error, attempt);
      await sleep(pause);
      if (hasGivenUp()) throw error;
    }
  }
}
