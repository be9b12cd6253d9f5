const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

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

/** How many objects and arrays begin in JSON at most: brackets in its texts count, too. */
export function countBrackets(bytes: Buffer): number {
  let brackets = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === OPEN_BRACKET || byte === OPEN_BRACE) brackets++;
  }
  return brackets;
}

/** How many values lines of JSON hold at most, within each other or side by side. */
export function countValues(bytes: Buffer): number {
  let values = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === OPEN_BRACKET || byte === OPEN_BRACE || byte === COMMA) values++;
  }
  return values;
}
