import { RE2JS, RE2JSException } from "re2js";
import type { Fields } from "../fields.ts";

/** Time is proportional to the length of a line and the size of a pattern; longer lines are rejected. */
export const MAX_LINE_LENGTH = 32 * 1024;
const MAX_PATTERN_LENGTH = 2_000;
const MAX_INSTRUCTIONS = 500;

/** A regular expression of RE2's language with named groups. */
export type Pattern = {
  readonly groups: readonly string[];
  /** The texts of the groups that took part; undefined when the pattern matches nowhere in the line. */
  readonly match: (line: string) => Fields | undefined;
};

/** @returns the expression, or why it is rejected. */
export function compilePattern(source: string): Pattern | string {
  if (source.length > MAX_PATTERN_LENGTH) return `is longer than ${MAX_PATTERN_LENGTH} characters`;
  try {
    const expression = RE2JS.compile(source);
    const size = expression.programSize();
    if (size > MAX_INSTRUCTIONS) {
      return `is too large: it compiles to ${size} instructions, at most ${MAX_INSTRUCTIONS} are allowed`;
    }
    const groups = Object.keys(expression.namedGroups());
    return {
      groups,
      match(line: string) {
        const matcher = expression.matcher(line);
        if (!matcher.find()) return undefined;
        return Object.fromEntries(
          groups.flatMap((group): [string, string][] => {
            const text = matcher.group(group);
            return text === null || text === undefined ? [] : [[group, text]];
          }),
        );
      },
    };
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return `is not a regular expression of RE2: ${error.message.replace(/^error parsing regexp: /, "")}`;
  }
}
