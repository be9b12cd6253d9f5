import { atomHolds } from "../tagging/holds.ts";
import type { TaggedEvent } from "../tagging/matching/event.ts";
import type { Atom, Expression } from "../tagging/rule.ts";

/** How a rule must be treated when only a part of what it looked at is stored. */
export type RuleTraits = {
  readonly usesBody: boolean;
  /** A session may have matched it with its first records and no longer match: it forbids or limits something. */
  readonly mayEnd: boolean;
};

export function traitsOf(expression: Expression): RuleTraits {
  switch (expression.kind) {
    case "clause":
      return {
        usesBody: expression.atoms.some((atom) => "field" in atom && atom.field === "body"),
        mayEnd: expression.atoms.some(mayEnd),
      };
    case "and":
    case "or": {
      const parts = expression.parts.map(traitsOf);
      return { usesBody: parts.some(({ usesBody }) => usesBody), mayEnd: parts.some((part) => part.mayEnd) };
    }
    case "not":
      return { ...traitsOf(expression.part), mayEnd: true };
  }
}

/** Numbers of a session grow. */
const mayEnd = (atom: Atom) =>
  atom.kind === "number" && atom.operator !== "gt" && atom.operator !== "gte" && atom.field === "login_attempts";

/**
 * Whether an expression holds of an event whose body is the first part of the one that came, with a dot for each
 * character that cannot be printed.
 * @returns undefined when the rest of the body would decide.
 */
export function holdsOfHead(expression: Expression, event: TaggedEvent): boolean | undefined {
  switch (expression.kind) {
    case "clause": {
      const results = expression.atoms.map((atom) => atomHoldsOfHead(atom, event));
      return expression.needs === "any" ? either(results) : every(results);
    }
    case "and":
      return every(expression.parts.map((part) => holdsOfHead(part, event)));
    case "or":
      return either(expression.parts.map((part) => holdsOfHead(part, event)));
    case "not": {
      const result = holdsOfHead(expression.part, event);
      return result === undefined ? undefined : !result;
    }
  }
}

function every(results: readonly (boolean | undefined)[]): boolean | undefined {
  if (results.includes(false)) return false;
  return results.includes(undefined) ? undefined : true;
}

function either(results: readonly (boolean | undefined)[]): boolean | undefined {
  if (results.includes(true)) return true;
  return results.includes(undefined) ? undefined : false;
}

/** A text in the head is in the body; one that is missing there may be in the rest of the body. */
function atomHoldsOfHead(atom: Atom, event: TaggedEvent): boolean | undefined {
  if (!("field" in atom) || atom.field !== "body") return atomHolds(atom, event);
  if (atom.kind === "exists") return true;
  const isPart = atom.kind === "text" && (atom.operator === "contains" || atom.operator === "startswith");
  return isPart && !atom.text.includes(".") && atomHolds(atom, event) ? true : undefined;
}
