const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * The number of elements of the array that starts at `start`, counted up to `max`. Does not look for their ends, so it
 * is wrong where the bytes are not JSON; an empty array counts as one.
 */
export function countElements(bytes: Buffer, start: number, max: number): number {
  let elements = 1;
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
    } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth++;
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth--;
    else if (byte === COMMA && depth === 1 && ++elements >= max) break;
  }
  return elements;
}

/** An upper bound of the objects and arrays in JSON: brackets in its texts count, too. */
export function countBrackets(bytes: Buffer): number {
  let brackets = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === OPEN_BRACKET || byte === OPEN_BRACE) brackets++;
  }
  return brackets;
}

/** An upper bound of the values in lines of JSON, nested or side by side. */
export function countValues(bytes: Buffer): number {
  let values = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === OPEN_BRACKET || byte === OPEN_BRACE || byte === COMMA) values++;
  }
  return values;
}
