import { formatAtom, foundBy } from "./explain.ts";
import { holds } from "./holds.ts";
import { toEvent } from "./matching/event.ts";
import type { Taggable } from "./matching/fields.ts";
import type { Expression } from "./rule.ts";

/** A rule's expression, with what became of each part of it for one observation. */
export type Trace =
  | {
      readonly kind: "clause";
      readonly holds: boolean;
      /** As the rule has it, like `path|endswith`. */
      readonly key: string;
      /** The rule's values, of which one or, with |all, all have to fit. */
      readonly values: readonly string[];
      /** The observation's, in the form that was compared; empty when it has none. */
      readonly found: readonly string[];
    }
  | { readonly kind: Exclude<Expression["kind"], "clause">; readonly holds: boolean; readonly parts: readonly Trace[] };

/** Tries every clause of a rule, also those that no longer matter once another one is missing. */
export function traceRule(expression: Expression, observation: Taggable): Trace {
  const event = toEvent(observation);
  const trace = (part: Expression): Trace => {
    const isTrue = holds(part, event);
    if (part.kind === "not") return { kind: part.kind, holds: isTrue, parts: [trace(part.part)] };
    if (part.kind !== "clause") return { kind: part.kind, holds: isTrue, parts: part.parts.map(trace) };
    const { kind, key, atoms } = part;
    return { kind, holds: isTrue, key, values: atoms.map(formatAtom), found: foundBy(part, event) };
  };
  return trace(expression);
}
