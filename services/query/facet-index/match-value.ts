import { wordsOf } from "@noisefloor/domain/query-language/conditions.ts";
import { textMatcher } from "@noisefloor/domain/query-language/text-match.ts";
import type { FacetSet } from "../conditions/address-set.ts";

/** Whether a stored value, in lower case as the store has it, is what a set asks for: as `textSql` says it. */
export function valueMatcher({ field, match }: FacetSet): (value: string) => boolean {
  switch (match.type) {
    case "exists":
      // Values are not empty, but for a part of one.
      return field === "organization" ? (value) => value !== "" : () => true;
    case "in": {
      const texts = new Set(match.texts);
      return (value) => texts.has(value);
    }
    case "between": {
      const { from, before, ending = "" } = match;
      return (value) => value >= from && value < before && value.endsWith(ending);
    }
    case "words":
    case "matches": {
      const isMatch = textMatcher(match);
      // To split every value would take ten times as long.
      const needed = match.type === "words" ? match.words : match.pattern.filter((part) => typeof part === "string");
      const isLikely = (text: string) => needed.every((part) => text.includes(part));
      return (text) => isLikely(text) && isMatch({ text, characters: [...text], words: wordsOf(text) });
    }
  }
}
