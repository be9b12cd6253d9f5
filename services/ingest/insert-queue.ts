import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type FailureKind, failureKind, isTooMuchAtOnce } from "@noisefloor/clickhouse/client/errors.ts";
import { patiently } from "./patience.ts";
import type { ObservationRow } from "./writer.ts";

/**
 * Inserts rows in one statement. When it resolves they can be read. A repeated insert with the same token is the same
 * insert; without one, or after a crash, repeated rows are still the same observations.
 */
export type InsertObservations = (rows: readonly ObservationRow[], token: string) => Promise<void>;

/** A row, by its place among those that were handed over, which the server refuses for what is in it. */
export type RefusedRow = { readonly index: number; readonly detail: string };

export type HandOverTerms = {
  /**
   * Aborted when nobody waits for the rows any more: those not under way are let go of, and those that wait for the store
   * to come back are not tried again.
   */
  readonly signal?: AbortSignal | undefined;
  /** More is waiting behind these rows, and comes only when they are stored: they do not wait for company. */
  readonly hasMore?: boolean | undefined;
};

export type InsertQueue = {
  /**
   * Resolves when every row is either stored or refused for what is in it, with the latter. Rejects with the server's
   * error when that is neither: then any of the rows may or may not be stored.
   * @param bytes about how much memory the rows take.
   */
  store(rows: readonly ObservationRow[], bytes: number, terms?: HandOverTerms): Promise<readonly RefusedRow[]>;
  /** Ends all trying again: what cannot be stored at once is rejected. What is under way goes on. */
  giveUp(): void;
};

export type InsertQueueTerms = {
  readonly insert: InsertObservations;
  /** For how long a failure that may pass by itself is tried again. */
  readonly retryForMs: number;
  /** How long rows wait for company, unless there are enough of them. */
  readonly lingerMs: number;
  /** Hears of each insert that the server has answered. */
  readonly onInsert?: (rows: number, seconds: number, outcome: "stored" | FailureKind) => void;
  /** Hears why rows have to wait, at each try. */
  readonly onWait?: ((error: unknown, attempt: number) => void) | undefined;
};

/** So many rows, or bytes, are worth an insert of their own: many small ones are what a ClickHouse server dies of. */
const ENOUGH_ROWS = 10_000;
const ENOUGH_BYTES = 8 * 1024 * 1024;
/** No insert is larger, unless a single hand-over is. */
const MOST_ROWS = 200_000;
const MOST_BYTES = 64 * 1024 * 1024;
/** A server's memory or time may be short for a moment, or too short for an insert of this size at any time. */
const TRIES_AT_A_SIZE = 3;
/** Fewer rows at once would not take noticeably less. */
const FEW_ROWS = 1_000;

type HandOver = {
  readonly rows: readonly ObservationRow[];
  readonly bytes: number;
  readonly signal: AbortSignal | undefined;
  readonly hasMore: boolean;
  readonly resolve: (refused: readonly RefusedRow[]) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Joins the rows of many sources (partitions, requests) into few large inserts, one at a time: while one is under way the
 * next one gathers. Whoever hands rows over waits for them, or says that he no longer does, so the queue is bounded by
 * how many do.
 */
export function insertQueue(terms: InsertQueueTerms): InsertQueue {
  const waiting: HandOver[] = [];
  let isDraining = false;
  let hasGivenUp = false;
  let hurry = () => {};

  const hasEnough = () =>
    waiting.some(({ hasMore }) => hasMore) ||
    waiting.reduce((sum, { rows }) => sum + rows.length, 0) >= ENOUGH_ROWS ||
    waiting.reduce((sum, { bytes }) => sum + bytes, 0) >= ENOUGH_BYTES;

  const drain = async () => {
    isDraining = true;
    while (waiting.length > 0) {
      if (!hasEnough() && !hasGivenUp) {
        await Promise.race([
          sleep(terms.lingerMs),
          new Promise<void>((settle) => {
            hurry = settle;
          }),
        ]);
      }
      const together = takeNext(waiting);
      if (together.length > 0) await storeTogether(together);
    }
    isDraining = false;
  };

  const storeTogether = async (together: readonly HandOver[]) => {
    try {
      const rows = together.length === 1 ? (together[0]?.rows ?? []) : together.flatMap((one) => one.rows);
      const isOver = () => hasGivenUp || together.every(({ signal }) => signal?.aborted);
      const refused = await storeOrRefuse(rows, 0, terms, isOver);
      let start = 0;
      for (const { rows: own, resolve } of together) {
        const end = start + own.length;
        const from = start;
        resolve(
          refused
            .filter(({ index }) => index >= from && index < end)
            .map(({ index, detail }) => ({ index: index - from, detail })),
        );
        start = end;
      }
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
  };

  return {
    store(rows, bytes, { signal, hasMore = false } = {}) {
      if (rows.length === 0) return Promise.resolve([]);
      return new Promise((resolve, reject) => {
        const handOver = { rows, bytes, signal, hasMore, resolve, reject };
        waiting.push(handOver);
        signal?.addEventListener("abort", () => {
          const place = waiting.indexOf(handOver);
          if (place < 0) return;
          waiting.splice(place, 1);
          reject(signal.reason);
        });
        if (!isDraining) void drain();
        else if (hasEnough()) hurry();
      });
    },
    giveUp() {
      hasGivenUp = true;
      hurry();
    },
  };
}

/** The next hand-overs that go into one insert, first come first served. */
function takeNext(waiting: HandOver[]): HandOver[] {
  const taken: HandOver[] = [];
  let rows = 0;
  let bytes = 0;
  for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
    rows += next.rows.length;
    bytes += next.bytes;
    if (taken.length > 0 && (rows > MOST_ROWS || bytes > MOST_BYTES)) break;
    taken.push(next);
    waiting.shift();
  }
  return taken;
}

/**
 * The error law. A failure that passes by itself is waited for; rows that the server refuses for what is in them are
 * halved until the bad ones stand alone, and so are rows that are too many for its memory or its time; any other failure is
 * nobody's to judge here and goes up.
 */
async function storeOrRefuse(
  rows: readonly ObservationRow[],
  offset: number,
  terms: InsertQueueTerms,
  hasGivenUp: () => boolean,
  isFirst = true,
): Promise<RefusedRow[]> {
  let triesTooMuch = 0;
  const isTooMuch = () => triesTooMuch >= TRIES_AT_A_SIZE && rows.length > FEW_ROWS;
  try {
    const onFailure = (error: unknown) => {
      if (isTooMuchAtOnce(error)) triesTooMuch++;
    };
    await insertPatiently(rows, { ...terms, onFailure }, () => hasGivenUp() || isTooMuch());
    return [];
  } catch (error) {
    const isWorthHalving = failureKind(error) === "data" || (isTooMuchAtOnce(error) && isTooMuch() && !hasGivenUp());
    if (!isWorthHalving) throw error;
    if (isFirst && failureKind(error) === "data") await requireSomeGood(rows, terms, hasGivenUp, error);
    if (rows.length === 1) return [{ index: offset, detail: error instanceof Error ? error.message : String(error) }];
    const middle = rows.length >> 1;
    return [
      ...(await storeOrRefuse(rows.slice(0, middle), offset, terms, hasGivenUp, false)),
      ...(await storeOrRefuse(rows.slice(middle), offset + middle, terms, hasGivenUp, false)),
    ];
  }
}

/** Among fewer rows than this all may well be bad. */
const ENOUGH_TO_JUDGE = 200;
const SAMPLES = 20;

/**
 * When none of some rows from all over the batch is taken, it is not for what is in them: the table was changed, or a view
 * on it is broken. All that comes would become dead letters, one insert each, so the failure goes up as one that nobody
 * knows. Samples that are taken are stored once more with the others, as the same observations.
 */
async function requireSomeGood(
  rows: readonly ObservationRow[],
  terms: InsertQueueTerms,
  hasGivenUp: () => boolean,
  refusal: unknown,
): Promise<void> {
  if (rows.length < ENOUGH_TO_JUDGE) return;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const at = Math.floor((sample * rows.length) / SAMPLES);
    try {
      await insertPatiently(rows.slice(at, at + 1), terms, hasGivenUp);
      return;
    } catch (error) {
      if (failureKind(error) !== "data") throw error;
    }
  }
  const detail = refusal instanceof Error ? refusal.message : String(refusal);
  throw new Error(`the table observations refuses whatever comes, not only some rows: ${detail}`, { cause: refusal });
}

type InsertTerms = InsertQueueTerms & { readonly onFailure?: (error: unknown) => void };

/** One insert, tried again under one token: a try whose answer was lost and the next one are the same insert. */
function insertPatiently(
  rows: readonly ObservationRow[],
  { insert, retryForMs, onInsert = () => {}, onWait, onFailure }: InsertTerms,
  hasGivenUp: () => boolean,
): Promise<void> {
  const token = randomUUID();
  const attempt = async () => {
    const start = performance.now();
    const told = (outcome: "stored" | FailureKind) =>
      onInsert(rows.length, (performance.now() - start) / 1_000, outcome);
    try {
      await insert(rows, token);
    } catch (error) {
      told(failureKind(error));
      onFailure?.(error);
      throw error;
    }
    told("stored");
  };
  return patiently(attempt, { forMs: retryForMs, hasGivenUp, onWait });
}
