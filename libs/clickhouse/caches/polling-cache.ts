import { setTimeout as sleep } from "node:timers/promises";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import type { TableChanges } from "./table-changes.ts";

/** A small table's content, kept in memory and refreshed by polling. */
export type PollingCache<T> = {
  /** As it stood at the last poll. */
  current(): T;
  /** Reads it again if it has changed: when it resolves, every change made before the call shows. */
  refresh(): Promise<void>;
  /**
   * Refreshes for a caller who may know of a change that does not show yet. Resolves also when that fails or takes
   * long; calls share refreshes, of which there are few, so that any number of callers may guess.
   */
  lookAgain(): Promise<void>;
  /** Seconds since it was last known to be up to date. */
  ageSeconds(): number;
  stop(): void;
};

/** A cache whose content is asked for by calls of its own. */
export type RefreshedCache = Omit<PollingCache<unknown>, "current">;

export type PollingOptions = {
  readonly intervalMs?: number;
  /** Asked before each poll: while the content's tables are quiet, it is up to date. */
  readonly changes?: TableChanges;
  /** Called once when polls begin to fail; meanwhile the cached content is served. */
  readonly onError?: (error: unknown) => void;
  /** Called when polls succeed again. */
  readonly onRecovery?: () => void;
};

/** With the timeout of a poll, less than the five seconds after which a revoked key must not work. */
const POLL_MS = 2_000;

/** The least time between refreshes that {@link PollingCache.lookAgain} asks for, and how long it waits for one. */
const LOOK_AGAIN_MS = { every: 500, wait: 5_000 };

/**
 * Reads something and polls every two seconds whether it has changed, so that a change made anywhere shows here soon.
 * @param readVersion anything cheap that changes whenever the content does.
 * @param options `tables`: all that the content comes from; without them every poll reads the version.
 */
export async function openPollingCache<T>(
  readVersion: () => Promise<string>,
  read: () => Promise<T>,
  options: PollingOptions & { readonly tables?: readonly string[] } = {},
): Promise<PollingCache<T>> {
  const readQuiet = options.tables && options.changes?.(options.tables);
  let version = await readVersion();
  let content = await read();
  let polledAt = performance.now();

  const poll = async () => {
    const start = performance.now();
    const latest = await readVersion();
    if (latest !== version) {
      content = await read();
      version = latest;
    }
    polledAt = start;
  };
  const refresh = oneAtATime(poll);
  const refreshUnlessQuiet = async () => {
    const quiet = await readQuiet?.();
    if (quiet?.isQuiet) polledAt = Math.max(polledAt, quiet.askedAt);
    else await refresh();
  };
  let nextLook: Promise<void> | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  const look = async () => {
    await sleep(Math.max(0, lookedAt + LOOK_AGAIN_MS.every - performance.now()), undefined, { ref: false });
    lookedAt = performance.now();
    // Callers from now on may know of a change that this refresh does not see.
    nextLook = undefined;
    await Promise.race([refresh().catch(() => {}), sleep(LOOK_AGAIN_MS.wait, undefined, { ref: false })]);
  };
  const { intervalMs = POLL_MS, onError = () => {}, onRecovery } = options;
  // A server that does not answer gathers no more than one query for all ticks.
  const ticks = repeatEvery(refreshUnlessQuiet, { everyMs: intervalMs, onError, onRecovery });
  return {
    current: () => content,
    refresh,
    lookAgain: () => (nextLook ??= look()),
    ageSeconds: () => (performance.now() - polledAt) / 1_000,
    stop: () => void ticks.stop(),
  };
}

/**
 * Calls made while a poll is running share the next: that one may have begun before the change they want to see.
 */
function oneAtATime(poll: () => Promise<void>) {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const start = () => {
    running = poll().finally(() => {
      running = undefined;
    });
    return running;
  };
  return () => {
    if (running === undefined) return start();
    next ??= running
      .catch(() => {})
      .then(() => {
        next = undefined;
        return start();
      });
    return next;
  };
}
