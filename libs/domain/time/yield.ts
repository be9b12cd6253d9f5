type Waiting = { readonly callback: () => void; readonly turnsAfter: number };

const waiting: Waiting[] = [];
let isBusy = false;

/** After work of about two milliseconds. */
const TURNS_AFTER = 6;

/**
 * Calls back in a turn of the event loop that no other callback has, in their order: what takes milliseconds for each
 * of many concurrent requests must not add up to one long turn.
 * @param turnsAfter turns without a callback that follow. Node accepts one connection a turn: without them, fifty
 * callers who connected together would wait for fifty callbacks.
 */
export function callAfterYield(callback: () => void, turnsAfter = TURNS_AFTER): void {
  waiting.push({ callback, turnsAfter });
  if (isBusy) return;
  isBusy = true;
  setImmediate(callNext);
}

/** Resolves in such a turn: the caller continues in it for a few milliseconds, until it next waits. */
export function yieldToEventLoop(turnsAfter = TURNS_AFTER): Promise<void> {
  return new Promise((settle) => callAfterYield(settle, turnsAfter));
}

/** Calls back immediately or, each time that enough bytes have come, in a turn of its own. */
export type Pace = (bytes: number, callback: () => void) => void;

/** The pace of one stream: others get their turn after every `bytesBeforeYield` of it. */
export function createPace(bytesBeforeYield: number): Pace {
  let untilYield = bytesBeforeYield;
  return (bytes, callback) => {
    untilYield -= bytes;
    if (untilYield > 0) return callback();
    untilYield = bytesBeforeYield;
    callAfterYield(callback);
  };
}

/** What is done of a batch before others get their turn. Few records can take as long as many, by bytes or by shape. */
const RECORDS_BEFORE_YIELD = 500;
const BYTES_BEFORE_YIELD = 256 * 1024;
const MS_BEFORE_YIELD = 10;

/**
 * The pace of work on a batch's records.
 * @returns a function that takes the size of the next record and resolves when it may be worked on; undefined when it
 * may immediately, since a promise for each record would take longer than most of them.
 */
export function createRecordPace(): (bytes: number) => Promise<void> | undefined {
  let records = 0;
  let bytesDone = 0;
  let since = performance.now();
  const yieldTurn = async () => {
    await yieldToEventLoop();
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

/** Does work whose steps take a few milliseconds each, and yields between them. @returns its result. */
export async function runInSteps<T>(work: Iterator<void, T>, signal?: AbortSignal): Promise<T> {
  for (;;) {
    signal?.throwIfAborted();
    const step = work.next();
    if (step.done) return step.value;
    await yieldToEventLoop();
  }
}

/** This many items of a simple loop take a millisecond or two. */
const ITEMS_BEFORE_YIELD = 32_000;

/** Works on items, numbered from 0, in chunks, and yields between them. It ends early when `work` returns false. */
export async function runInChunks(
  items: number,
  work: (from: number, end: number) => unknown,
  itemsPerChunk = ITEMS_BEFORE_YIELD,
): Promise<void> {
  for (let from = 0; from < items; from += itemsPerChunk) {
    if (from > 0) await yieldToEventLoop();
    if (work(from, Math.min(items, from + itemsPerChunk)) === false) return;
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
