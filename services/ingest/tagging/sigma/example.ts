import type { Atom, Expression } from "../rule.ts";

/** The texts that a field has to hold. */
type Wanted = { whole?: string; start: string; middle: string; end: string };

/**
 * Makes an example of a rule out of its own values: of alternatives the first, and of what must not be nothing. It need
 * not match, so the caller has to try it.
 * @returns undefined for rules that are about regular expressions or about what is missing.
 */
export function exampleOf(expression: Expression): Record<string, unknown> | undefined {
  const fields = new Map<string, Wanted>();
  const example: Record<string, unknown> = {};
  if (!collect(expression, fields, example)) return undefined;
  for (const [field, { whole, start, middle, end }] of fields) example[field] = whole ?? `${start}${middle}${end}`;
  return Object.keys(example).length === 0 ? undefined : example;
}

function collect(expression: Expression, fields: Map<string, Wanted>, example: Record<string, unknown>): boolean {
  switch (expression.kind) {
    case "clause": {
      const atoms = expression.needs === "all" ? expression.atoms : expression.atoms.slice(0, 1);
      return atoms.every((atom) => add(atom, fields, example));
    }
    case "and":
      return expression.parts.every((part) => collect(part, fields, example));
    case "or": {
      const [first] = expression.parts;
      return first !== undefined && collect(first, fields, example);
    }
    case "not":
      return true;
  }
}

function add(atom: Atom, fields: Map<string, Wanted>, example: Record<string, unknown>): boolean {
  if (atom.kind === "number" && atom.operator === "equals") {
    example[atom.field] = atom.value;
    return true;
  }
  if (atom.kind === "exists") {
    addText(fields, atom.field, "contains", "x");
    return true;
  }
  if (atom.kind === "wildcard") {
    const text = atom.pattern.segments.map((segment) => segment.map((character) => character ?? "x").join("")).join("");
    addText(fields, atom.field, "contains", text);
    return true;
  }
  if (atom.kind !== "text") return false;
  addText(fields, atom.field, atom.operator, atom.text);
  return true;
}

function addText(fields: Map<string, Wanted>, field: string, operator: string, text: string): void {
  const wanted = fields.get(field) ?? { start: "", middle: "", end: "" };
  fields.set(field, wanted);
  if (operator === "equals") wanted.whole = text;
  else if (operator === "startswith") wanted.start = text;
  else if (operator === "endswith") wanted.end = text;
  else wanted.middle += text;
}
