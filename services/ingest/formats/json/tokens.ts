const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_E = 0x65;
const LOWER_U = 0x75;
/** Added to the code of a capital ASCII letter, it gives the lower-case one: `E` is 0x45, `e` is 0x65. */
const TO_LOWER = 0x20;

/** What may follow a backslash, but for `u`. */
const ESCAPED = new Set(Buffer.from('"\\/bfnrt'));
const WORDS = ["true", "false", "null"].map((word) => Buffer.from(word));

/** Whether a byte is white space that JSON allows around a value. */
export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** The position of the first byte from `start` on that is not white space, or `limit`. */
export function skipSpace(bytes: Buffer, start: number, limit = bytes.length): number {
  let at = start;
  while (at < limit && isSpace(bytes[at])) at++;
  return at;
}

/** The position after the last byte before `end` that is not white space, or `start`. */
export function skipSpaceBack(bytes: Buffer, start: number, end: number): number {
  let at = end;
  while (at > start && isSpace(bytes[at - 1])) at--;
  return at;
}

/**
 * The position of the quote that ends a string; one from `limit` on when it ends later; when it is no string, a
 * negative number: `~position` of what cannot stand there.
 */
export function endOfText(bytes: Buffer, start: number, limit: number): number {
  for (let at = start; at < limit; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) return at;
    if (byte < 0x20) return ~at;
    if (byte !== BACKSLASH) continue;
    at++;
    if (bytes[at] === LOWER_U) {
      for (const last = at + 4; at < last; at++) if (!isHexDigit(bytes[at + 1])) return ~(at + 1);
    } else if (!ESCAPED.has(bytes[at] ?? 0)) return ~at;
    if (at + 1 >= limit) return at + 1;
  }
  return limit;
}

/** The position after the number, `true`, `false` or `null` at `start`, or -1. */
export function endOfScalar(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === MINUS || isDigit(first)) return endOfNumber(bytes, start);
  for (const word of WORDS) {
    if (word[0] !== first) continue;
    const end = start + word.length;
    return bytes.subarray(start, end).equals(word) ? end : -1;
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

/** The position after at least one digit, or -1. */
function endOfDigits(bytes: Buffer, start: number): number {
  let at = start;
  while (isDigit(bytes[at])) at++;
  return at > start ? at : -1;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function isHexDigit(byte: number | undefined): boolean {
  if (isDigit(byte)) return true;
  const letter = (byte ?? 0) | TO_LOWER;
  return letter >= 0x61 && letter <= 0x66;
}
