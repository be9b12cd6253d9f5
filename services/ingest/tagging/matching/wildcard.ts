/** A text with wildcards: `*` is any characters, `?` is one. */
export type WildcardPattern = {
  /** What stands between the stars, in order; a character that is undefined is any one character. */
  readonly segments: readonly (readonly (string | undefined)[])[];
  /** The longest text that every match contains; may be empty. */
  readonly literal: string;
};

/**
 * Reads the value of a field without a modifier. A backslash before `*`, `?` or a backslash takes it literally, before
 * anything else it is a backslash (as in Sigma).
 * @returns the plain text when it has no wildcard.
 */
export function readWildcards(text: string): string | WildcardPattern {
  const segments: (string | undefined)[][] = [[]];
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index);
    const next = text.charAt(index + 1);
    const current = segments.at(-1) ?? [];
    if (character === "\\" && (next === "*" || next === "?" || next === "\\")) {
      current.push(next);
      index++;
    } else if (character === "*") segments.push([]);
    else current.push(character === "?" ? undefined : character);
  }
  const [only = []] = segments;
  if (segments.length === 1 && !only.includes(undefined)) return only.join("");
  return { segments, literal: longestLiteral(segments) };
}

/** Time grows with the text's length times the longest segment's, whatever they hold: no backtracking over stars. */
export function matchesWildcards({ segments }: WildcardPattern, text: string): boolean {
  const [first = [], ...rest] = segments;
  const last = rest.pop();
  if (last === undefined) return text.length === first.length && isAt(first, text, 0);
  const end = text.length - last.length;
  if (!isAt(first, text, 0) || end < first.length || !isAt(last, text, end)) return false;
  let from = first.length;
  for (const segment of rest) {
    const position = findSegment(segment, text, from, end);
    if (position === -1) return false;
    from = position + segment.length;
  }
  return true;
}

function findSegment(segment: readonly (string | undefined)[], text: string, from: number, end: number): number {
  for (let start = from; start + segment.length <= end; start++) if (isAt(segment, text, start)) return start;
  return -1;
}

function isAt(segment: readonly (string | undefined)[], text: string, start: number): boolean {
  if (start < 0 || start + segment.length > text.length) return false;
  for (let index = 0; index < segment.length; index++) {
    const expected = segment[index];
    if (expected !== undefined && expected !== text.charAt(start + index)) return false;
  }
  return true;
}

function longestLiteral(segments: readonly (readonly (string | undefined)[])[]): string {
  const literals: string[] = [];
  for (const segment of segments) {
    let run = "";
    for (const character of segment) {
      if (character === undefined) {
        literals.push(run);
        run = "";
      } else run += character;
    }
    literals.push(run);
  }
  return literals.reduce((longest, literal) => (literal.length > longest.length ? literal : longest), "");
}
