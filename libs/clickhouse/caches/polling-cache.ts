import { StoreError } from "../client/errors.ts";

/** A small table's content, kept in memory and up to date. */
export type Watched<T> = {
  /** As it stood a moment ago. */
  current(): T;
  /** Reads it again if it has changed: when it resolves, every change made before the call shows. */
  refresh(): Promise<void>;
  /** Seconds since it was last known to be up to date. */
  ageSeconds(): number;
  stop(): void;
};

export type WatchOptions = {
  readonly intervalMs?: number;
  /** Hears, once, why the server cannot be asked any more; meanwhile the last known content goes on answering. */
  readonly onError?: (error: unknown) => void;
  /** Hears that it can be asked again. */
  readonly onRecovery?: () => void;
};

/** Content that was there and now reads as empty: a store that was lost or cut off reads like that, too. */
type EmptyCheck<T> = { readonly isEmpty?: (content: T) => boolean };

/**
 * Reads something and looks every second whether it has changed, so that a change made anywhere shows here soon.
 * @param readVersion anything cheap that changes whenever the content does.
 * @param options `isEmpty`: content that was not empty is never replaced by content that is; that is an error instead.
 */
export async function watch<T>(
  readVersion: () => Promise<string>,
  read: () => Promise<T>,
  options: WatchOptions & EmptyCheck<T> = {},
): Promise<Watched<T>> {
  const { isEmpty = () => false } = options;
  let version = await readVersion();
  let content = await read();
  let lookedAt = performance.now();
  let underWay: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  const load = async () => {
    const start = performance.now();
    const latest = await readVersion();
    if (latest !== version) {
      const found = await read();
      if (isEmpty(found) && !isEmpty(content)) {
        throw new StoreError("read as empty, though it was not before; a restart takes it as it is");
      }
      content = found;
      version = latest;
    }
    lookedAt = start;
  };
  const start = () => {
    underWay = load().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
  const refresh = () => {
    if (underWay === undefined) return start();
    // The look under way may have begun before the change that the caller wants to see.
    next ??= underWay
      .catch(() => {})
      .then(() => {
        next = undefined;
        return start();
      });
    return next;
  };
  let isStopped = false;
  let isFailing = false;
  const look = () => {
    // A server that does not answer must not gather a question each second.
    if (underWay !== undefined) return;
    refresh().then(
      () => {
        if (isFailing) options.onRecovery?.();
        isFailing = false;
      },
      (error: unknown) => {
        // A look under way at the stop fails when its connection is closed, which is nothing to tell anybody of.
        if (!isFailing && !isStopped) options.onError?.(error);
        isFailing = true;
      },
    );
  };
  const timer = setInterval(look, options.intervalMs ?? 1_000);
  timer.unref();
  return {
    current: () => content,
    refresh,
    ageSeconds: () => (performance.now() - lookedAt) / 1_000,
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
  };
}
