import { createSingleFlight } from "./single-flight.ts";

export type RepeatOptions = {
  /** Milliseconds between the starts of two runs; undefined when only calls of `run` start it. */
  readonly everyMs: number | undefined;
  /** Milliseconds until the first run; left out, as many as between two. */
  readonly firstMs?: number;
  /** Called with the first of consecutive failures, unless it comes after the stop. */
  readonly onError: (error: unknown) => void;
  /** Called when it succeeds again. */
  readonly onRecovery?: (() => void) | undefined;
};

export type Repeated = {
  /** Runs it now, or shares the run that is under way. Never rejects. */
  run(): Promise<void>;
  /** Ends the repetition. Resolves when the run that is under way has ended. */
  stop(): Promise<void>;
};

/**
 * Runs something at intervals, never twice at the same time. Its timers keep no process alive.
 *
 * Not for trying one action until it succeeds (`retry`), nor for a pause that depends on how the run before went.
 */
export function repeatEvery(
  act: () => Promise<void>,
  { everyMs, firstMs, onError, onRecovery }: RepeatOptions,
): Repeated {
  const share = createSingleFlight<"run", void>();
  let [isFailing, isStopped] = [false, false];
  const attempt = async () => {
    try {
      await act();
      if (isFailing) onRecovery?.();
      isFailing = false;
    } catch (error) {
      if (!isFailing && !isStopped) onError(error);
      isFailing = true;
    }
  };
  const run = () => share("run", attempt);
  const tick = () => void run();
  const timers = [
    ...(firstMs === undefined ? [] : [setTimeout(tick, firstMs).unref()]),
    ...(everyMs === undefined ? [] : [setInterval(tick, everyMs).unref()]),
  ];
  return {
    run,
    async stop() {
      isStopped = true;
      for (const timer of timers) clearInterval(timer);
      await share.settled();
    },
  };
}
