import { readingValue } from "./scan.ts";
import { startOfHits } from "./search-answer.ts";
import { isSpace, skipSpace, skipSpaceBack } from "./tokens.ts";

const NUL = 0x00;
const NEWLINE = 0x0a;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Max bytes of a record. The beginning of a larger one is kept, enough to see what it is. */
const MAX_RECORD_BYTES = 4 * 1024 * 1024;
/** A value that the end of the bytes cuts in the middle of an escape or a word fails so close to it. */
const LONGEST_TOKEN = 8;
/** How many lines may be read up to the same broken position, in search of the end of a value. */
const MAX_ATTEMPTS = 3;
/** The bytes that are cut before others get their turn. */
const BYTES_AT_ONCE = 256 * 1024;

/** Where the cutting of a stream stands between two pieces of it. */
export type CutState = {
  /** Inside an array the values may stand on any lines. */
  isInArray: boolean;
  /** Behind the hits of a search answer, whose brackets close. */
  isClosing: boolean;
  /** In the rest of a line that is too long. */
  isDropping: boolean;
  /** The last position at which a value turned out to be broken, from the first byte that is left, and how many did there. */
  brokenAt: number;
  attempts: number;
};

export function createCutState(): CutState {
  return { isInArray: false, isClosing: false, isDropping: false, brokenAt: 0, attempts: 0 };
}

/** Called with each record. @returns whether to go on. */
export type OnRecord = (record: Buffer) => boolean;

/**
 * Cuts the records off the beginning of some bytes: a line each, an object over several lines or several on one, the
 * elements of an array, the hits of a search answer. A line that is torn is a record of its own and costs none of its
 * neighbours. NUL bytes before a record belong to it: they stand where a file was truncated under its writer.
 * Yields every few milliseconds. @returns the number of bytes that are done; the rest waits for more bytes.
 */
export function* cutting(bytes: Buffer, state: CutState, isEnd: boolean, onRecord: OnRecord): Generator<void, number> {
  const hasPairs = holdsPair(bytes);
  let yieldAt = BYTES_AT_ONCE;
  let at = 0;
  /** Whether what has begun at `at` may wait for the rest of it. */
  const canWait = () => !isEnd && bytes.length - at < MAX_RECORD_BYTES;
  const lineEnd = (from: number) => {
    const newline = bytes.indexOf(NEWLINE, from);
    return newline < 0 ? bytes.length : newline;
  };
  /** Cuts a whole line. @returns undefined when the line may end later. */
  const cutLine = (end: number): boolean | undefined => {
    if (end === bytes.length && canWait()) return undefined;
    const start = at;
    state.isDropping = end === bytes.length && !isEnd;
    at = end;
    return onRecord(bytes.subarray(start, skipSpaceBack(bytes, start, end)));
  };
  /** The end of the value that begins at `from`; undefined if no value does; "later" if the bytes end before it. */
  function* endOfRecord(from: number): Generator<void, number | "later" | undefined> {
    if (from < state.brokenAt && state.attempts >= MAX_ATTEMPTS) return undefined;
    const end = yield* readingValue(bytes, from);
    // A number may go on in the next piece.
    const isOpen =
      end >= 0 ? end === bytes.length && isWordOrNumber(bytes[end - 1]) : ~end + LONGEST_TOKEN > bytes.length;
    if (isOpen && canWait()) return "later";
    if (end >= 0) return end;
    state.attempts = ~end > state.brokenAt ? 1 : state.attempts + 1;
    state.brokenAt = Math.max(state.brokenAt, ~end);
    return undefined;
  }

  for (;;) {
    if (at >= yieldAt) {
      yieldAt = at + BYTES_AT_ONCE;
      yield;
    }
    if (state.isDropping) {
      at = lineEnd(at);
      state.isDropping = at === bytes.length;
    }
    while (at < bytes.length && isBetween(bytes[at], state)) {
      at = Math.min(at + 1, bytes.length);
      if (at >= yieldAt) {
        yieldAt = at + BYTES_AT_ONCE;
        yield;
      }
    }
    if (at === bytes.length) return at;
    state.isClosing = false;
    const first = bytes[at] === NUL ? yield* skippingPadding(bytes, at) : at;
    if (first === bytes.length && !isEnd) {
      // Kept whole, what stands for a former file would fill the memory.
      return bytes.length - at < MAX_RECORD_BYTES ? at : bytes.length - 1;
    }
    const byte = bytes[first];
    let newline = -1;
    if (state.isInArray) {
      if (byte === CLOSE_BRACKET) {
        state.isInArray = false;
        at = first + 1;
        state.isClosing = true;
        continue;
      }
      const end = byte === OPEN_BRACE ? yield* endOfRecord(first) : undefined;
      if (end === "later") return at;
      if (end !== undefined) {
        const start = at;
        at = end;
        if (!onRecord(bytes.subarray(start, end))) return at;
        continue;
      }
    } else if (byte === OPEN_BRACKET) {
      const opens = opensArray(bytes, first, !canWait());
      if (opens === undefined && canWait()) return at;
      if (opens) {
        state.isInArray = true;
        at = first + 1;
        continue;
      }
    } else if (byte === OPEN_BRACE) {
      const hits = startOfHits(bytes, first);
      if (hits === "later" && canWait()) return at;
      if (typeof hits === "number") {
        state.isInArray = true;
        at = hits;
        continue;
      }
      newline = lineEnd(first);
      const end = skipSpaceBack(bytes, first, newline);
      const isClosed = bytes[end - 1] === CLOSE_BRACE;
      const hasFurther = isClosed && hasPairs && holdsPair(bytes.subarray(first, end));
      // Most objects end on their line, which is known without reading them.
      if (!isClosed || hasFurther) {
        const valueEnd = yield* endOfRecord(first);
        if (valueEnd === "later") return at;
        if (valueEnd !== undefined) {
          const next = skipSpace(bytes, valueEnd, lineEnd(valueEnd));
          const isFollowed = bytes[next] !== OPEN_BRACE && next < lineEnd(valueEnd);
          // Something else follows it on its only line: the line is torn.
          if (!isFollowed || valueEnd > newline) {
            const start = at;
            at = next;
            if (!onRecord(bytes.subarray(start, valueEnd))) return at;
            if (!isFollowed) continue;
          }
        }
      }
    }
    const goesOn = cutLine(at <= newline ? newline : lineEnd(at));
    if (goesOn === undefined || !goesOn) return at;
  }
}

/** Whether a byte separates records. */
function isBetween(byte: number | undefined, { isInArray, isClosing }: CutState): boolean {
  return isSpace(byte) || (isInArray && byte === COMMA) || (isClosing && byte === CLOSE_BRACE);
}

/** The position of a record's first byte after NULs and white space. */
export function skipPadding(bytes: Buffer, start: number, limit = bytes.length): number {
  let at = start;
  while (at < limit && (bytes[at] === NUL || isSpace(bytes[at]))) at++;
  return at;
}

function* skippingPadding(bytes: Buffer, start: number): Generator<void, number> {
  for (let at = start; ; ) {
    const limit = Math.min(at + BYTES_AT_ONCE, bytes.length);
    at = skipPadding(bytes, at, limit);
    if (at < limit || limit === bytes.length) return at;
    yield;
  }
}

/**
 * Whether a bracket opens an array of objects, or an empty one; undefined when the bytes end before that is known.
 * Kernels, Apache and others begin their lines with times in brackets, and quoted CSV is a list of texts.
 */
function opensArray(bytes: Buffer, start: number, isWhole: boolean): boolean | undefined {
  const next = skipSpace(bytes, start + 1);
  if (next === bytes.length) return undefined;
  if (bytes[next] !== CLOSE_BRACKET) return bytes[next] === OPEN_BRACE;
  const after = skipSpace(bytes, next + 1);
  if (after === bytes.length) return isWhole || undefined;
  return bytes.subarray(next, after).includes(NEWLINE);
}

/** Whether an object may begin on the line on which another one ends. */
function holdsPair(bytes: Buffer): boolean {
  for (let end = bytes.indexOf(CLOSE_BRACE); end >= 0; end = bytes.indexOf(CLOSE_BRACE, end + 1)) {
    let next = end + 1;
    while (bytes[next] !== NEWLINE && isSpace(bytes[next])) next++;
    if (bytes[next] === OPEN_BRACE) return true;
  }
  return false;
}

/** Whether a value that ends with this byte may continue after it. */
const isWordOrNumber = (byte: number | undefined) =>
  byte !== undefined && byte !== 0x22 && byte !== CLOSE_BRACE && byte !== CLOSE_BRACKET;
