import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { failureKind, isTooMuchAtOnce, isTransient } from "@noisefloor/clickhouse/client/errors.ts";
import { retry } from "@noisefloor/domain/time/retry.ts";

/**
 * Inserts rows in one statement. When it resolves they can be read. A repeated insert with the same token is the same
 * insert; without one, or after a crash, repeated rows are still the same observations.
 */
export type Insert<Row> = (rows: readonly Row[], token: string) => Promise<void>;

/** A row that the server rejects for its data, by its index among those of its `store` call. */
export type RejectedRow = { readonly index: number; readonly detail: string };

export type InsertQueue<Row> = {
  /**
   * Resolves when every row is either stored or rejected for its data, with the latter. Rejects with the server's error
   * when that is neither: then any of the rows may or may not be stored.
   * @param bytes about how much memory the rows take.
   * @param signal aborted when the caller no longer waits: rows that are not sent yet are dropped.
   */
  store(rows: readonly Row[], bytes: number, signal?: AbortSignal): Promise<readonly RejectedRow[]>;
};

export type InsertQueueOptions<Row> = {
  readonly insert: Insert<Row>;
  /** For how long a transient failure is retried. */
  readonly retryForMs: number;
  /** The least time between the starts of two inserts, unless the second has enough rows: meanwhile rows join it. */
  readonly intervalMs: number;
  /** Aborted at a shutdown: rows no longer wait for others, and nothing is retried. A running insert goes on. */
  readonly shutdown?: AbortSignal | undefined;
  /**
   * Called with rows that the server has rejected or not stored, before their callers hear of it. The server may keep
   * the rows of an insert that failed: in 26.7, where one of the views has failed.
   */
  readonly leftovers?: Leftovers<Row> | undefined;
  /** Called before each retry. */
  readonly onRetry?: ((error: unknown, attempt: number) => void) | undefined;
};

/** What becomes of rows that a failed insert may have stored. */
export type Leftovers<Row> = {
  /** Removes rows that were rejected. @param startedAt when they were first sent, in ms of `performance.now()`. */
  remove(rows: readonly Row[], startedAt: number): Promise<void>;
  /** Makes the rollups count rows that their callers may send again, and may not. */
  keep(rows: readonly Row[]): void;
};

/** Fewer rows and bytes wait for others: a ClickHouse server breaks down under many small inserts. */
const ENOUGH_ROWS = 10_000;
const ENOUGH_BYTES = 4 * 1024 * 1024;
/** No insert is larger, unless a single call's rows are. */
const MAX_ROWS = 200_000;
const MAX_BYTES = 64 * 1024 * 1024;
/** A server's memory or time may be short for a moment, or too short for an insert of this size at any time. */
const ATTEMPTS_PER_SIZE = 3;
/** Fewer rows at once would not take noticeably less. */
const SMALL_INSERT_ROWS = 1_000;

/** One `store` call. */
type Pending<Row> = {
  readonly rows: readonly Row[];
  readonly bytes: number;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (rejected: readonly RejectedRow[]) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Joins the rows of many callers (partitions, requests) into few large inserts, one at a time: the next one gathers
 * while one is running, and until the interval since its start is over. Each caller waits for its rows, so the queue is
 * bounded by the number of callers.
 */
export function insertQueue<Row>(options: InsertQueueOptions<Row>): InsertQueue<Row> {
  const { intervalMs, shutdown = new AbortController().signal } = options;
  const pending: Pending<Row>[] = [];
  let isDraining = false;
  let lastStart = Number.NEGATIVE_INFINITY;
  let linger = new AbortController();
  shutdown.addEventListener("abort", () => linger.abort(), { once: true });

  const hasEnough = () =>
    pending.reduce((sum, { rows }) => sum + rows.length, 0) >= ENOUGH_ROWS ||
    pending.reduce((sum, { bytes }) => sum + bytes, 0) >= ENOUGH_BYTES;

  const drain = async () => {
    isDraining = true;
    while (pending.length > 0) {
      const waitMs = lastStart + intervalMs - performance.now();
      if (waitMs > 0 && !hasEnough() && !shutdown.aborted) {
        linger = new AbortController();
        await sleep(waitMs, undefined, { signal: linger.signal }).catch(() => {});
      }
      const together = takeNext(pending);
      lastStart = performance.now();
      if (together.length > 0) await storeTogether(together, options);
    }
    isDraining = false;
  };

  return {
    store(rows, bytes, signal) {
      if (rows.length === 0) return Promise.resolve([]);
      if (signal?.aborted) return Promise.reject(signal.reason);
      return new Promise((resolve, reject) => {
        const onAbort = () => {
          const index = pending.indexOf(call);
          if (index < 0) return;
          pending.splice(index, 1);
          reject(signal?.reason);
        };
        const done = () => signal?.removeEventListener("abort", onAbort);
        const call: Pending<Row> = {
          rows,
          bytes,
          signal,
          resolve(rejected) {
            done();
            resolve(rejected);
          },
          reject(error) {
            done();
            reject(error);
          },
        };
        pending.push(call);
        signal?.addEventListener("abort", onAbort, { once: true });
        if (!isDraining) void drain();
        else if (hasEnough()) linger.abort();
      });
    },
  };
}

/** The calls that go into the next insert, first come first served. */
function takeNext<Row>(pending: Pending<Row>[]): Pending<Row>[] {
  const taken: Pending<Row>[] = [];
  let rows = 0;
  let bytes = 0;
  for (let next = pending[0]; next !== undefined; next = pending[0]) {
    rows += next.rows.length;
    bytes += next.bytes;
    if (taken.length > 0 && (rows > MAX_ROWS || bytes > MAX_BYTES)) break;
    taken.push(next);
    pending.shift();
  }
  return taken;
}

async function storeTogether<Row>(together: readonly Pending<Row>[], options: InsertQueueOptions<Row>): Promise<void> {
  const { signal, dispose } = whenAborted(
    options.shutdown,
    together.map((call) => call.signal),
  );
  const rows = together.length === 1 ? (together[0]?.rows ?? []) : together.flatMap((call) => call.rows);
  const startedAt = performance.now();
  try {
    const rejected = await storeOrReject(rows, 0, { ...options, signal });
    const bad = rejected.flatMap(({ index }) => rows[index] ?? []);
    if (bad.length > 0) await options.leftovers?.remove(bad, startedAt);
    let next = 0;
    for (const { rows: own, resolve } of together) {
      const [from, end] = [next, next + own.length];
      resolve(
        rejected
          .filter(({ index }) => index >= from && index < end)
          .map(({ index, detail }) => ({ index: index - from, detail })),
      );
      next = end;
    }
  } catch (error) {
    options.leftovers?.keep(rows);
    for (const { reject } of together) reject(error);
  } finally {
    dispose();
  }
}

/** A signal that aborts at a shutdown, or when all callers are gone: while one waits, its rows are retried. */
function whenAborted(shutdown: AbortSignal | undefined, callers: readonly (AbortSignal | undefined)[]) {
  const aborted = new AbortController();
  const listeners: [signal: AbortSignal, onAbort: () => void][] = [];
  let waiting = callers.length;
  const listen = (signal: AbortSignal | undefined, onAbort: () => void) => {
    if (signal === undefined) return;
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    listeners.push([signal, onAbort]);
  };
  listen(shutdown, () => aborted.abort());
  for (const caller of callers) {
    listen(caller, () => {
      if (--waiting === 0) aborted.abort();
    });
  }
  const dispose = () => {
    for (const [signal, onAbort] of listeners) signal.removeEventListener("abort", onAbort);
  };
  return { signal: aborted.signal, dispose };
}

type InsertOptions<Row> = InsertQueueOptions<Row> & { readonly signal: AbortSignal };

/**
 * What to do about a failed insert. A transient failure is retried. Rows that the server rejects for their data are
 * halved until the bad ones stand alone, and so are rows that are too many for its memory or time. Any other failure is
 * thrown.
 */
async function storeOrReject<Row>(
  rows: readonly Row[],
  offset: number,
  options: InsertOptions<Row>,
  isFirst = true,
): Promise<RejectedRow[]> {
  let attemptsTooLarge = 0;
  const isTooLarge = () => attemptsTooLarge >= ATTEMPTS_PER_SIZE && rows.length > SMALL_INSERT_ROWS;
  const mayPass = (error: unknown) => {
    if (isTooMuchAtOnce(error)) attemptsTooLarge++;
    return isTransient(error) && !isTooLarge();
  };
  try {
    await insertWithRetry(rows, options, mayPass);
    return [];
  } catch (error) {
    const isData = failureKind(error) === "data";
    if (!isData && !(isTooMuchAtOnce(error) && isTooLarge() && !options.signal.aborted)) throw error;
    if (isFirst && isData) await assertSomeRowsInsert(rows, options, error);
    if (rows.length === 1) return [{ index: offset, detail: error instanceof Error ? error.message : String(error) }];
    const middle = rows.length >> 1;
    return [
      ...(await storeOrReject(rows.slice(0, middle), offset, options, false)),
      ...(await storeOrReject(rows.slice(middle), offset + middle, options, false)),
    ];
  }
}

/** Fewer rows may all be bad: one sensor may have sent them. */
const MIN_ROWS_TO_SAMPLE = 200;
const SAMPLES = 20;

/**
 * If no sampled row inserts, the table is broken (it was changed, or a view on it fails), not the data: all that comes
 * would become dead letters, one insert each. Samples that insert are stored again with the others, as the same
 * observations.
 * @throws an error of unknown kind when no sample inserts.
 */
async function assertSomeRowsInsert<Row>(
  rows: readonly Row[],
  options: InsertOptions<Row>,
  failure: unknown,
): Promise<void> {
  if (rows.length < MIN_ROWS_TO_SAMPLE) return;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const at = Math.floor((sample * rows.length) / SAMPLES);
    try {
      await insertWithRetry(rows.slice(at, at + 1), options, isTransient);
      return;
    } catch (error) {
      if (failureKind(error) !== "data") throw error;
    }
  }
  const detail = failure instanceof Error ? failure.message : String(failure);
  throw new Error(`the table observations rejects all rows, not only some: ${detail}`, { cause: failure });
}

/** Retries under one token: an attempt whose answer was lost and the next one are the same insert. */
function insertWithRetry<Row>(
  rows: readonly Row[],
  { insert, retryForMs, onRetry, signal }: InsertOptions<Row>,
  mayPass: (error: unknown) => boolean,
): Promise<void> {
  const token = randomUUID();
  return retry(() => insert(rows, token), { forMs: retryForMs, isTransient: mayPass, signal, onRetry });
}
