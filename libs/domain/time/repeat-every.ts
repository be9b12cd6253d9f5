import { createSingleFlight } from "./single-flight.ts";

export type RepeatOptions = {
  /** Milliseconds between the starts of two runs; undefined when calls of `run`, or `pauseMs`, start it. */
  readonly everyMs: number | undefined;
  /** For pauses that depend on how a run went: milliseconds from its end until the next. Called after each run. */
  readonly pauseMs?: (hasFailed: boolean) => number;
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
 * Not for trying one action until it succeeds (`retry`).
 */
export function repeatEvery(
  act: () => Promise<void>,
  { everyMs, pauseMs, firstMs, onError, onRecovery }: RepeatOptions,
): Repeated {
  const share = createSingleFlight<"run", void>();
  let [isFailing, isStopped] = [false, false];
  let next: NodeJS.Timeout | undefined;
  const attempt = async () => {
    clearTimeout(next);
    try {
      await act();
      if (isFailing) onRecovery?.();
      isFailing = false;
    } catch (error) {
      if (!isFailing && !isStopped) onError(error);
      isFailing = true;
    }
    if (pauseMs !== undefined && !isStopped) next = setTimeout(tick, pauseMs(isFailing)).unref();
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
      for (const timer of [...timers, next]) clearInterval(timer);
      await share.settled();
    },
  };
}
