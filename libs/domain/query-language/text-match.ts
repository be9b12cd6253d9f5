import { wordsOf } from "./conditions.ts";
import { patternMatcher } from "./pattern.ts";
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
