type Waiting = { readonly callback: () => void; readonly turnsAfter: number };

const waiting: Waiting[] = [];
let isBusy = false;

/** After work of about two milliseconds. */
const TURNS_AFTER = 6;

/**
 * Calls back in a turn of the event loop that no other callback has, in their order: what takes milliseconds for each
 * of many requests at once must not add up to one long turn.
 * @param turnsAfter turns without a callback that follow. Node accepts one connection a turn: without them, fifty
 * callers who connected together would wait for fifty callbacks.
 */
export function inOwnTurn(callback: () => void, turnsAfter = TURNS_AFTER): void {
  waiting.push({ callback, turnsAfter });
  if (isBusy) return;
  isBusy = true;
  setImmediate(callNext);
}

/** Resolves in such a turn: the caller continues in it for a few milliseconds, until it next waits. */
export function ownTurn(turnsAfter = TURNS_AFTER): Promise<void> {
  return new Promise((settle) => inOwnTurn(settle, turnsAfter));
}

/** Calls back at once or, after every so many bytes, in a turn of its own. */
export type Pace = (bytes: number, callback: () => void) => void;

/** The pace of one stream: others get their turn after every `bytesBeforeYield` of it. */
export function createPace(bytesBeforeYield: number): Pace {
  let untilYield = bytesBeforeYield;
  return (bytes, callback) => {
    untilYield -= bytes;
    if (untilYield > 0) return callback();
    untilYield = bytesBeforeYield;
    inOwnTurn(callback);
  };
}

/** What is done of a batch before others get their turn. Few records can take as long as many, by bytes or by shape. */
const RECORDS_BEFORE_YIELD = 500;
const BYTES_BEFORE_YIELD = 256 * 1024;
const MS_BEFORE_YIELD = 10;

/**
 * The pace of work on a batch's records.
 * @returns a function that takes the size of the next record and resolves when it may be worked on; undefined when it
 * may at once, since a promise for each record would take longer than most of them.
 */
export function createRecordPace(): (bytes: number) => Promise<void> | undefined {
  let records = 0;
  let bytesDone = 0;
  let since = performance.now();
  const yieldTurn = async () => {
    await ownTurn();
    since = performance.now();
  };
  return (bytes) => {
    const isDue =
      records >= RECORDS_BEFORE_YIELD ||
      bytesDone >= BYTES_BEFORE_YIELD ||
      performance.now() - since >= MS_BEFORE_YIELD;
    if (isDue) [records, bytesDone] = [0, 0];
    records++;
    bytesDone += bytes;
    return isDue ? yieldTurn() : undefined;
  };
}

/** Does work that yields after every few milliseconds, each piece in a turn of its own. @returns its result. */
export async function runInTurns<T>(work: Iterator<void, T>): Promise<T> {
  for (;;) {
    const piece = work.next();
    if (piece.done) return piece.value;
    await ownTurn();
  }
}

function callNext(): void {
  const next = waiting.shift();
  if (next === undefined) {
    isBusy = false;
    return;
  }
  setImmediate(skipTurns, next.turnsAfter);
  next.callback();
}

function skipTurns(left: number): void {
  if (left > 0) setImmediate(skipTurns, left - 1);
  else callNext();
}
