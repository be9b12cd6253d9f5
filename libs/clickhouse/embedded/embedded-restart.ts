import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../client/errors.ts";
import type { ServerEnd, ServerProcess } from "./embedded-process.ts";

/** Callbacks for a server that ends unexpectedly. */
export type RestartEvents = {
  /** Called with how it ended, and with the pause before it is started again. */
  readonly onExit?: (end: ServerEnd, retryInMs: number) => void;
  /** Called when a start failed, likewise. */
  readonly onFailedStart?: (error: unknown, retryInMs: number) => void;
  /** Called when it answers again. */
  readonly onRestart?: (downMs: number) => void;
};

export type RestartOptions = RestartEvents & {
  /** A server that does not answer again within this time is not restarted any more. */
  readonly maxDownMs?: number;
};

export const MAX_DOWN_MS = 120_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** A server that ran this long did not end because of its start. */
const STABLE_MS = 60_000;

/** A server that is started again whenever it ends unexpectedly. */
export type SupervisedServer = {
  readonly pid: number;
  /** Settles when it has ended for good, with why. */
  readonly ended: Promise<StoreError>;
  stop(): Promise<void>;
};

/** How a server is started once more, at the same address. */
export type Restarter = {
  /** Keeps other processes from starting one; called before each attempt. Rejects when another was faster. */
  hold(): Promise<void>;
  start(): Promise<ServerProcess>;
  release(): Promise<void>;
};

/**
 * Keeps a server running until it is stopped, or cannot be started for too long. Pauses grow while it keeps ending.
 * @param restart without it the first end is the last.
 */
export function supervise(
  first: ServerProcess,
  restarter: Restarter,
  logFile: string,
  restart: RestartOptions | undefined,
): SupervisedServer {
  let current = first;
  const stopping = new AbortController();
  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => {});

  /** @returns the last pause; undefined when the server did not come back. */
  const restartUntilReady = async (end: ServerEnd, options: RestartOptions, firstPauseMs: number) => {
    const { maxDownMs = MAX_DOWN_MS } = options;
    const downSince = performance.now();
    let pauseMs = firstPauseMs;
    options.onExit?.(end, pauseMs);
    // Before the pause: a command that took the directory during it might keep it for hours.
    await restarter.hold().catch(() => {});
    for (;;) {
      await pause(pauseMs);
      if (stopping.signal.aborted) return undefined;
      try {
        await restarter.hold();
        current = await restarter.start();
        if (stopping.signal.aborted) return undefined;
        options.onRestart?.(performance.now() - downSince);
        return pauseMs;
      } catch (error) {
        if (performance.now() - downSince > maxDownMs) return undefined;
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
        options.onFailedStart?.(error, pauseMs);
      }
    }
  };
  const live = async () => {
    let pauseMs = FIRST_PAUSE_MS / 2;
    for (;;) {
      const startedAt = performance.now();
      const end = await current.ended;
      if (stopping.signal.aborted) return new StoreError("the embedded ClickHouse was stopped");
      if (restart === undefined) return new StoreError(`${formatEnd(end)}; see ${logFile}`);
      const isStable = performance.now() - startedAt > STABLE_MS;
      const nextPauseMs = isStable ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      const usedPauseMs = await restartUntilReady(end, restart, nextPauseMs).finally(restarter.release);
      if (stopping.signal.aborted) {
        // The stop may have come while the server was being started.
        await current.stop();
        return new StoreError("the embedded ClickHouse was stopped");
      }
      if (usedPauseMs === undefined) {
        return new StoreError(`${formatEnd(end)}, and could not be started again; see ${logFile}`);
      }
      pauseMs = usedPauseMs;
    }
  };
  const ended = live();
  return {
    get pid() {
      return current.pid;
    },
    ended,
    async stop() {
      stopping.abort();
      await current.stop();
      await ended;
    },
  };
}

/** As `ClickHouse (pid 7) was killed by signal 9 (SIGKILL), possibly out of memory`. */
export function formatEnd({ pid, code, signal }: ServerEnd): string {
  const who = `ClickHouse (pid ${pid})`;
  if (signal === null) return `${who} ended with exit code ${code}`;
  const why = signal === "SIGKILL" ? ", possibly out of memory" : "";
  return `${who} was killed by signal ${constants.signals[signal]} (${signal})${why}`;
}
