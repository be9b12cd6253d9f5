import { endOfScalar, endOfText, isSpace, skipSpace } from "./tokens.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** How many levels of nesting one number holds: of 32 bits, those that V8 keeps without an object for the number. */
const LEVELS_AT_ONCE = 30;

/** The bytes that are read before others get their turn. */
export const BYTES_AT_ONCE = 256 * 1024;

/** The reader of a value wants no more of it. */
const NONE = -1;

/** What is due: a value; one, or the end of an empty array; a name; one, or the end of an empty object; and so on. */
const VALUE = 0;
const FIRST_VALUE = 1;
const NAME = 2;
const FIRST_NAME = 3;
const COLON_OF_NAME = 4;
const COMMA_OR_END = 5;
/** The rest of a value's or a name's text. */
const TEXT = 6;
const TEXT_OF_NAME = 7;

/**
 * Called with each member of the outermost object, or element of the outermost array: where its value begins and ends
 * and, in an object, where its name does, quotes included. @returns whether to read on.
 */
export type OnItem = (start: number, end: number, nameStart: number, nameEnd: number) => boolean;

/**
 * Returns the position after the JSON value that starts at `start`, and yields after every {@link BYTES_AT_ONCE}. Where
 * no value starts it returns a negative number, `~position` of the byte that shows it; that may be the end of the bytes.
 * It accepts exactly what JSON.parse does of the bytes as UTF-8, but builds nothing: a few bytes of brackets can stand for
 * gigabytes of objects. What it keeps is one bit for each open bracket.
 */
export function* readingValue(bytes: Buffer, start: number, onItem?: OnItem): Generator<void, number> {
  /** The innermost open brackets, the last in the lowest bit: 1 is a brace. Those around them wait in `outer`. */
  let kinds = 0;
  let levels = 0;
  const outer: number[] = [];
  let due = VALUE;
  let itemStart = 0;
  let nameStart = 0;
  let nameEnd = 0;
  let yieldAt = Math.min(start + BYTES_AT_ONCE, bytes.length);

  for (let at = start; ; ) {
    if (at >= yieldAt) {
      if (at >= bytes.length) return ~bytes.length;
      yieldAt = Math.min(at + BYTES_AT_ONCE, bytes.length);
      yield;
    }
    if (due >= TEXT) {
      at = endOfText(bytes, at, yieldAt);
      if (at < 0) return at;
      if (at >= yieldAt) continue;
      at++;
      if (due === TEXT_OF_NAME) {
        if (levels === 1) nameEnd = at;
        due = COLON_OF_NAME;
        continue;
      }
    } else {
      const byte = bytes[at];
      if (isSpace(byte)) {
        at = skipSpace(bytes, at + 1, yieldAt);
        continue;
      }
      if (due <= FIRST_VALUE && !(due === FIRST_VALUE && byte === CLOSE_BRACKET)) {
        if (levels === 1) itemStart = at;
        if (byte === QUOTE) {
          due = TEXT;
          at++;
          continue;
        }
        if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
          if (levels > 0 && levels % LEVELS_AT_ONCE === 0) {
            outer.push(kinds);
            kinds = 0;
          }
          kinds = (kinds << 1) | (byte === OPEN_BRACE ? 1 : 0);
          levels++;
          due = byte === OPEN_BRACE ? FIRST_NAME : FIRST_VALUE;
          at++;
          continue;
        }
        const end = endOfScalar(bytes, at);
        if (end < 0) return ~at;
        at = end;
      } else if (due === COLON_OF_NAME) {
        if (byte !== COLON) return ~at;
        due = VALUE;
        at++;
        continue;
      } else if (byte === QUOTE && (due === NAME || due === FIRST_NAME)) {
        if (levels === 1) nameStart = at;
        due = TEXT_OF_NAME;
        at++;
        continue;
      } else if (byte === COMMA && due === COMMA_OR_END) {
        due = (kinds & 1) === 1 ? NAME : VALUE;
        at++;
        continue;
      } else {
        if (due === NAME || byte !== ((kinds & 1) === 1 ? CLOSE_BRACE : CLOSE_BRACKET)) return ~at;
        kinds >>= 1;
        levels--;
        if (levels > 0 && levels % LEVELS_AT_ONCE === 0) kinds = outer.pop() ?? 0;
        at++;
      }
    }
    // Here a value has ended.
    if (levels === 0) return at;
    due = COMMA_OR_END;
    if (levels === 1 && onItem?.(itemStart, at, nameStart, nameEnd) === false) return NONE;
  }
}

/** The position of the first byte from `start` on that is no white space. Yields as {@link readingValue} does. */
export function* skippingSpace(bytes: Buffer, start: number): Generator<void, number> {
  for (let at = start; ; ) {
    const limit = Math.min(at + BYTES_AT_ONCE, bytes.length);
    at = skipSpace(bytes, at, limit);
    if (at < limit || limit === bytes.length) return at;
    yield;
  }
}
