import type { Bind } from "@noisefloor/clickhouse/client/bound-values.ts";
import type { Pattern } from "@noisefloor/domain/query-language/query.ts";
import type { FacetMatch } from "./address-set.ts";

/** SQL: whether a text, in lower case, is what a condition asks for. An empty text is no value. */
export function textSql(text: string, match: FacetMatch, bind: Bind): string {
  switch (match.type) {
    case "exists":
      return `${text} != ''`;
    case "in": {
      const [only, second] = match.texts;
      if (only !== undefined && second === undefined) return `${text} = ${bind("String", only)}`;
      return `${text} IN ${bind("Array(String)", match.texts)}`;
    }
    case "between": {
      const { from, before, ending } = match;
      const isBetween = `${text} >= ${bind("String", from)} AND ${text} < ${bind("String", before)}`;
      return ending === undefined ? isBetween : `${isBetween} AND endsWith(${text}, ${bind("String", ending)})`;
    }
    case "words":
      return `match(${text}, ${bind("String", wordsPattern(match.words))})`;
    case "matches":
      // The key of a table finds what begins with the text before the first wildcard.
      return `${text} LIKE ${bind("String", likePattern(match.pattern))} AND ${text} != ''`;
  }
}

const NO_WORD = String.raw`[^\pL\pM\pN]`;

/** A regular expression of RE2 that matches words, made of letters and digits, in their order. */
const wordsPattern = (words: readonly string[]) => `(?:^|${NO_WORD})${words.join(`${NO_WORD}+`)}(?:$|${NO_WORD})`;

const WILDCARDS = { "*": "%", "?": "_" } as const;

const likePattern = (pattern: Pattern) =>
  pattern
    .map((part) => (typeof part === "string" ? part.replace(/[\\%_]/g, "\\$&") : WILDCARDS[part.wildcard]))
    .join("");
