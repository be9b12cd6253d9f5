import type { ValueAt } from "@noisefloor/domain/query-language/completion/complete.ts";
import { isConjunction } from "../narrow.ts";

/** All addresses. */
const EVERYTHING = "found:true";

const FIELD_BEFORE = /(?:(?:\b(?:AND|NOT)\s+|&&\s*|[-!]\s*)*)[\w.]+:$/i;
const AND_AFTER = /^\s*(?:AND\b|&&)/i;

/**
 * A query without the condition whose value is being written, so that the values of its answer are those that can be
 * written; everything where a value is no further condition on the others.
 */
export function withoutCondition(text: string, { from, to }: Pick<ValueAt, "from" | "to">): string {
  const before = text.slice(0, from);
  const after = text.slice(to).replace(AND_AFTER, "");
  if (!FIELD_BEFORE.test(before) || !isConjunction(before) || !isConjunction(after)) return EVERYTHING;
  return `${before.replace(FIELD_BEFORE, "")}${after}`.trim() || EVERYTHING;
}
