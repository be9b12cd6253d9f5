const QUOTED = /\\.|"(?:[^"\\]|\\.)*"/gs;
const INNERMOST_PARENTHESES = /\([^()]*\)/g;
/** Quotes that open and close in other ways, parentheses without their other half, and alternatives. */
const OTHER_QUOTES = /['"‘’‚‛‹›“”„‟«»]/u;
const LOOSE = /[()]|\bor\b|\|\|/i;

/** Whether all parts of a text hold together without parentheses around it. False where that takes the grammar to say. */
export function isConjunction(text: string): boolean {
  let outer = text.replace(QUOTED, "_");
  if (OTHER_QUOTES.test(outer)) return false;
  for (let whole = ""; whole !== outer; ) {
    whole = outer;
    outer = outer.replace(INNERMOST_PARENTHESES, "_");
  }
  return !LOOSE.test(outer);
}

/** Protocols qualify the ports beside them, except those in parentheses. */
const isOfPorts = (text: string) => /port|protocol/i.test(text);

const asConjunction = (query: string) => (isConjunction(query) ? query : `(${query})`);

/** The addresses of a query that match a condition, too. */
export const narrow = (query: string, condition: string): string =>
  `${asConjunction(query)} ${isOfPorts(query) && isOfPorts(condition) ? `(${condition})` : condition}`;

/** The addresses of a query that do not match a condition. */
export const exclude = (query: string, condition: string): string =>
  `${asConjunction(query)} NOT ${isOfPorts(condition) ? `(${condition})` : condition}`;
