const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const LOWER_E = 0x65;
const LOWER_U = 0x75;
/** Added to the code of a capital ASCII letter, it gives the lower-case one: `E` is 0x45, `e` is 0x65. */
const TO_LOWER = 0x20;

/** What may follow a backslash, but for `u`. */
const ESCAPED = new Set(Buffer.from('"\\/bfnrt'));
const WORDS = ["true", "false", "null"].map((word) => Buffer.from(word));

/** How many levels of nesting one number holds: of 32 bits, those that V8 keeps without an object for the number. */
const LEVELS_AT_ONCE = 30;

/**
 * The position behind the JSON value that starts at `start`, or -1 when there is none. It accepts exactly what
 * JSON.parse does of the bytes as UTF-8, but builds nothing: a few bytes of brackets can stand for gigabytes of
 * objects. What it keeps is one bit for each open bracket.
 */
export function endOfValue(bytes: Buffer, start: number): number {
  /** The innermost open brackets, the last in the lowest bit: 1 is a brace. Those around them wait in `outer`. */
  let kinds = 0;
  let levels = 0;
  const outer: number[] = [];
  const open = (kind: 0 | 1) => {
    if (levels === LEVELS_AT_ONCE) {
      outer.push(kinds);
      kinds = 0;
      levels = 0;
    }
    kinds = (kinds << 1) | kind;
    levels++;
  };
  const close = () => {
    kinds >>= 1;
    levels--;
    if (levels > 0 || outer.length === 0) return;
    kinds = outer.pop() ?? 0;
    levels = LEVELS_AT_ONCE;
  };

  for (let at = start; ; ) {
    // Here a value is due.
    at = skipSpace(bytes, at);
    const first = bytes[at];
    if (first === OPEN_BRACE) {
      open(1);
      at = skipSpace(bytes, at + 1);
      if (bytes[at] !== CLOSE_BRACE) {
        at = endOfName(bytes, at);
        if (at < 0) return -1;
        continue;
      }
    } else if (first === OPEN_BRACKET) {
      open(0);
      at = skipSpace(bytes, at + 1);
      if (bytes[at] !== CLOSE_BRACKET) continue;
    } else {
      at = endOfScalar(bytes, at);
      if (at < 0) return -1;
    }
    // Here a value has ended, or an empty object or array is about to.
    for (;;) {
      if (levels === 0) return at;
      at = skipSpace(bytes, at);
      const isObject = (kinds & 1) === 1;
      if (bytes[at] === COMMA) {
        at = isObject ? endOfName(bytes, skipSpace(bytes, at + 1)) : at + 1;
        if (at < 0) return -1;
        break;
      }
      if (bytes[at] !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) return -1;
      close();
      at++;
    }
  }
}

/** The position of the first byte from `start` on that is none of the white space that JSON allows around a value. */
export function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (isSpace(bytes[at])) at++;
  return at;
}

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** The position behind a member's name and its colon, or -1. */
function endOfName(bytes: Buffer, start: number): number {
  if (bytes[start] !== QUOTE) return -1;
  const end = endOfString(bytes, start);
  if (end < 0) return -1;
  const colon = skipSpace(bytes, end);
  return bytes[colon] === COLON ? colon + 1 : -1;
}

function endOfScalar(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === QUOTE) return endOfString(bytes, start);
  if (first === MINUS || isDigit(first)) return endOfNumber(bytes, start);
  const word = WORDS.find((known) => known[0] === first);
  if (word === undefined) return -1;
  const end = start + word.length;
  return bytes.subarray(start, end).equals(word) ? end : -1;
}

function endOfString(bytes: Buffer, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) return at + 1;
    if (byte < 0x20) return -1;
    if (byte !== BACKSLASH) continue;
    at++;
    if (bytes[at] === LOWER_U) {
      for (const last = at + 4; at < last; at++) if (!isHexDigit(bytes[at + 1])) return -1;
    } else if (!ESCAPED.has(bytes[at] ?? 0)) return -1;
  }
  return -1;
}

function endOfNumber(bytes: Buffer, start: number): number {
  let at = bytes[start] === MINUS ? start + 1 : start;
  at = bytes[at] === ZERO ? at + 1 : endOfDigits(bytes, at);
  if (at >= 0 && bytes[at] === POINT) at = endOfDigits(bytes, at + 1);
  if (at >= 0 && ((bytes[at] ?? 0) | TO_LOWER) === LOWER_E) {
    const sign = bytes[at + 1];
    at = endOfDigits(bytes, sign === PLUS || sign === MINUS ? at + 2 : at + 1);
  }
  return at;
}

/** The position behind at least one digit, or -1. */
function endOfDigits(bytes: Buffer, start: number): number {
  let at = start;
  while (isDigit(bytes[at])) at++;
  return at > start ? at : -1;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isHexDigit(byte: number | undefined): boolean {
  if (isDigit(byte)) return true;
  const letter = (byte ?? 0) | TO_LOWER;
  return letter >= 0x61 && letter <= 0x66;
}

/**
 * How many elements the array that starts at `start` has, up to so many. Cheaper than to look for each one's end, and
 * wrong where there is no JSON; an empty array has one.
 */
export function countElements(bytes: Buffer, start: number, most: number): number {
  let elements = 1;
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
    } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth++;
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth--;
    else if (byte === COMMA && depth === 1 && ++elements >= most) break;
  }
  return elements;
}
