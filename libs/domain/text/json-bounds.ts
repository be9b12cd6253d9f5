const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Max nesting of a JSON text from outside: code that walks its values, like JSON.stringify, is recursive. */
export const MAX_JSON_LEVELS = 64;
/** Max values in it: many small objects take long to parse, however few bytes they have. */
export const MAX_JSON_VALUES = 20_000;

/**
 * Which bound a JSON text exceeds, as the end of a sentence about it; undefined if it exceeds none. Builds no values.
 * Whether the text is JSON at all is left to JSON.parse.
 */
export function findJsonExcess(text: string, maxValues = MAX_JSON_VALUES): string | undefined {
  // Nearly every text is far from both bounds, and this is known without reading each of its characters.
  if (text.length <= maxValues && !hasManyBrackets(text)) return undefined;
  let levels = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) at = endOfString(text, at);
    else if (character === CLOSE_BRACKET || character === CLOSE_BRACE) levels--;
    else if (character === COMMA) values++;
    else if (character === OPEN_BRACKET || character === OPEN_BRACE) {
      values++;
      if (++levels > MAX_JSON_LEVELS) return `is nested more than ${MAX_JSON_LEVELS} levels deep`;
    }
    if (values > maxValues) return `has more than ${MAX_JSON_VALUES} values`;
  }
  return undefined;
}

/** The number of values in JSON; what looks like values inside its texts may be counted, too. */
export function countJsonValues(text: string): number {
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) at = endOfString(text, at);
    else if (character === COMMA || character === OPEN_BRACKET || character === OPEN_BRACE) values++;
  }
  return values;
}

/** Whether there are more opening brackets than levels allowed. */
function hasManyBrackets(text: string): boolean {
  let brackets = 0;
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++brackets > MAX_JSON_LEVELS) return true;
    }
  }
  return false;
}

/** The position of the quote that ends the string that begins at `start`, or a position after the text. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) return at;
    if (character === BACKSLASH) at++;
  }
  return text.length;
}
