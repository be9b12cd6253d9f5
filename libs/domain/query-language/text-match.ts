import { wordsOf } from "./conditions.ts";
import type { Pattern } from "./query.ts";

/** What a condition asks of a text, whatever the field: any, a whole one, words in it, or a pattern of the whole. */
export type TextMatch =
  | { readonly type: "exists" }
  | { readonly type: "equals"; readonly text: string }
  | { readonly type: "words"; readonly words: readonly string[] }
  | { readonly type: "matches"; readonly pattern: Pattern };

/** A value prepared for many comparisons: in lower case, its characters and its words. */
export type ComparableText = {
  readonly text: string;
  readonly characters: readonly string[];
  readonly words: readonly string[];
};

export function comparable(value: string): ComparableText {
  const text = value.toLowerCase();
  return { text, characters: [...text], words: wordsOf(text) };
}

/** Whether a value is what a condition asks for: made once a condition. An empty value matches nothing. */
export type TextMatcher = (value: ComparableText) => boolean;

export function textMatcher(match: TextMatch): TextMatcher {
  switch (match.type) {
    case "exists":
      return ({ text }) => text !== "";
    case "equals":
      return ({ text }) => text !== "" && text === match.text;
    case "words":
      return ({ words }) => hasWords(words, match.words);
    case "matches": {
      const matches = patternMatcher(match.pattern);
      return ({ characters }) => characters.length > 0 && matches(characters);
    }
  }
}

/** Whether some words stand in a text in their order, with nothing between them but separators. */
function hasWords(text: readonly string[], wanted: readonly string[]): boolean {
  const [first = ""] = wanted;
  for (let start = text.indexOf(first); start >= 0; start = text.indexOf(first, start + 1)) {
    if (wanted.every((word, index) => text[start + index] === word)) return true;
  }
  return false;
}

/** The characters between two `*`: each one character, or undefined for a `?`. */
type Segment = readonly (string | undefined)[];

/**
 * Prepares a pattern for many texts. Each segment is looked for behind the one before and never again, and a text with
 * fewer characters than the pattern is not looked at: the time is at most the square of a text's length.
 * @returns whether the pattern matches a whole text in lower case, given by its characters.
 */
export function patternMatcher(pattern: Pattern): (characters: readonly string[]) => boolean {
  const segments = segmentsOf(pattern);
  const [first = [], ...behind] = segments;
  const last = behind.pop();
  const minCharacters = segments.reduce((sum, { length }) => sum + length, 0);
  return (characters) => {
    const end = characters.length - (last?.length ?? 0);
    if (characters.length < minCharacters || !standsAt(first, characters, 0)) return false;
    if (last === undefined) return characters.length === first.length;
    let at = first.length;
    for (const segment of behind) {
      while (at + segment.length <= end && !standsAt(segment, characters, at)) at++;
      at += segment.length;
    }
    return at <= end && standsAt(last, characters, end);
  };
}

/** Several `*` beside each other are one. */
function segmentsOf(pattern: Pattern): readonly Segment[] {
  const segments: (string | undefined)[][] = [[]];
  for (const part of pattern) {
    if (typeof part === "string") segments.at(-1)?.push(...part);
    else if (part.wildcard === "?") segments.at(-1)?.push(undefined);
    else if (segments.length === 1 || segments.at(-1)?.length !== 0) segments.push([]);
  }
  return segments;
}

function standsAt(segment: Segment, characters: readonly string[], at: number): boolean {
  for (let index = 0; index < segment.length; index++) {
    const one = segment[index];
    if (one !== undefined && one !== characters[at + index]) return false;
  }
  return true;
}
