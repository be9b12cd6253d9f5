import { StoreError } from "../client/errors.ts";

/** A small table's content, kept in memory and refreshed by polling. */
export type PollingCache<T> = {
  /** As it stood at the last poll. */
  current(): T;
  /** Reads it again if it has changed: when it resolves, every change made before the call shows. */
  refresh(): Promise<void>;
  /** Seconds since it was last known to be up to date. */
  ageSeconds(): number;
  stop(): void;
};

export type PollingOptions = {
  readonly intervalMs?: number;
  /** Called once when polls begin to fail; meanwhile the cached content is served. */
  readonly onError?: (error: unknown) => void;
  /** Called when polls succeed again. */
  readonly onRecovery?: () => void;
};

/** Recognises empty content: a store that was lost or cut off reads as empty, too. */
type EmptyCheck<T> = { readonly isEmpty?: (content: T) => boolean };

/**
 * Reads something and polls every second whether it has changed, so that a change made anywhere shows here soon.
 * @param readVersion anything cheap that changes whenever the content does.
 * @param options `isEmpty`: content that was not empty is never replaced by content that is; that is an error instead.
 */
export async function openPollingCache<T>(
  readVersion: () => Promise<string>,
  read: () => Promise<T>,
  options: PollingOptions & EmptyCheck<T> = {},
): Promise<PollingCache<T>> {
  const { isEmpty = () => false } = options;
  let version = await readVersion();
  let content = await read();
  let polledAt = performance.now();

  const poll = async () => {
    const start = performance.now();
    const latest = await readVersion();
    if (latest !== version) {
      const found = await read();
      if (isEmpty(found) && !isEmpty(content)) {
        throw new StoreError("it is empty and was not before; if that is intended, restart the service");
      }
      content = found;
      version = latest;
    }
    polledAt = start;
  };
  const { refresh, isPolling } = oneAtATime(poll);
  let isStopped = false;
  let isFailing = false;
  const tick = () => {
    // A server that does not answer must not gather one more query each second.
    if (isPolling()) return;
    refresh().then(
      () => {
        if (isFailing) options.onRecovery?.();
        isFailing = false;
      },
      (error: unknown) => {
        // A poll that is running at the stop fails because its connection is closed.
        if (!isFailing && !isStopped) options.onError?.(error);
        isFailing = true;
      },
    );
  };
  const timer = setInterval(tick, options.intervalMs ?? 1_000);
  timer.unref();
  return {
    current: () => content,
    refresh,
    ageSeconds: () => (performance.now() - polledAt) / 1_000,
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
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
  const refresh = () => {
    if (running === undefined) return start();
    next ??= running
      .catch(() => {})
      .then(() => {
        next = undefined;
        return start();
      });
    return next;
  };
  return { refresh, isPolling: () => running !== undefined };
}
