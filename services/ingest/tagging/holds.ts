import type { TaggedEvent } from "./matching/event.ts";
import { matchesWildcards } from "./matching/wildcard.ts";
import type { Atom, Expression } from "./rule.ts";

/** Whether an expression holds of an event, found without any index. */
export function holds(expression: Expression, event: TaggedEvent): boolean {
  switch (expression.kind) {
    case "clause":
      return expression.needs === "any"
        ? expression.atoms.some((atom) => atomHolds(atom, event))
        : expression.atoms.every((atom) => atomHolds(atom, event));
    case "and":
      return expression.parts.every((part) => holds(part, event));
    case "or":
      return expression.parts.some((part) => holds(part, event));
    case "not":
      return !holds(expression.part, event);
  }
}

/** A field with several values matches if one of them does. */
export function atomHolds(atom: Atom, event: TaggedEvent): boolean {
  switch (atom.kind) {
    case "text":
      return event.texts(atom.field, atom.form).some((text) => textHolds(atom, text));
    case "wildcard":
      return event.texts(atom.field, atom.form).some((text) => matchesWildcards(atom.pattern, text));
    case "regex":
      return event.texts(atom.field, atom.form).some(atom.regex.matches);
    case "number": {
      const value = event.number(atom.field);
      return value !== undefined && numberHolds(atom, value);
    }
    case "network": {
      const address = event.address();
      return address !== undefined && atom.first <= address && address <= atom.last;
    }
    case "exists":
      return event.exists(atom.field);
  }
}

function textHolds({ operator, text: wanted }: Extract<Atom, { kind: "text" }>, text: string): boolean {
  switch (operator) {
    case "equals":
      return text === wanted;
    case "contains":
      return text.includes(wanted);
    case "startswith":
      return text.startsWith(wanted);
    case "endswith":
      return text.endsWith(wanted);
  }
}

function numberHolds({ operator, value: limit }: Extract<Atom, { kind: "number" }>, value: number): boolean {
  switch (operator) {
    case "equals":
      return value === limit;
    case "lt":
      return value < limit;
    case "lte":
      return value <= limit;
    case "gt":
      return value > limit;
    case "gte":
      return value >= limit;
  }
}
