const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

/** How many objects and arrays begin in JSON at most: brackets in its texts count, too. */
export function countBrackets(bytes: Buffer): number {
  let brackets = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === OPEN_BRACKET || byte === OPEN_BRACE) brackets++;
  }
  return brackets;
}
