import { RE2JS, RE2JSException, RE2Set } from "re2js";
import { type RequiredLiterals, requiredLiterals } from "./required-literals.ts";

/** A regular expression of a rule: RE2's language, matched in time linear in the text. */
export type Regex = {
  readonly source: string;
  /** Every match contains one of these texts, in the case of the matched text; empty when no such texts are known. */
  readonly literals: RequiredLiterals;
  readonly matches: (text: string) => boolean;
};

const MAX_LENGTH = 1_000;
/** Time is proportional to it: 500 instructions take at most about 50 ms for a body of 4 KiB. */
const MAX_INSTRUCTIONS = 500;
/** What the automaton of one expression may remember; texts made to blow it up are then matched without. */
const MAX_CACHE_BYTES = 512 * 1024;

/** @returns the expression, or why it is rejected. */
export function compileRegex(source: string, isCased: boolean): Regex | string {
  if (source.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`;
  try {
    const flags = isCased ? 0 : RE2JS.CASE_INSENSITIVE;
    const size = RE2JS.compile(source, flags).programSize();
    if (size > MAX_INSTRUCTIONS) {
      return `is too large: it compiles to ${size} instructions, at most ${MAX_INSTRUCTIONS} are allowed`;
    }
    const set = new RE2Set(RE2Set.UNANCHORED, flags, MAX_CACHE_BYTES);
    set.add(source);
    return { source, literals: requiredLiterals(source, isCased), matches: (text) => set.match(text).length > 0 };
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return `is not a regular expression of RE2: ${error.message.replace(/^error parsing regexp: /, "").replace("`(?i)", "`")}`;
  }
}
