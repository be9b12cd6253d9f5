import { wordsOf } from "./conditions.ts";
import { matchesPattern } from "./pattern.ts";
import type { Pattern } from "./query.ts";

/** What a condition asks of a text, whatever the field: any, a whole one, words in it, or a pattern of the whole. */
export type TextMatch =
  | { readonly type: "exists" }
  | { readonly type: "equals"; readonly text: string }
  | { readonly type: "words"; readonly words: readonly string[] }
  | { readonly type: "matches"; readonly pattern: Pattern };

/** Whether a value, in any case, is what a condition asks for. An empty value matches nothing. */
export function matchesText(match: TextMatch, value: string): boolean {
  if (value === "") return false;
  switch (match.type) {
    case "exists":
      return true;
    case "equals":
      return value.toLowerCase() === match.text;
    case "words":
      return hasWords(wordsOf(value), match.words);
    case "matches":
      return matchesPattern(match.pattern, value.toLowerCase());
  }
}

/** Whether some words stand in a text in their order, with nothing between them but separators. */
function hasWords(text: readonly string[], wanted: readonly string[]): boolean {
  return text.some((_, start) => wanted.every((word, index) => text[start + index] === word));
}
