import { type FieldName, fieldOf } from "@noisefloor/ingest/tagging/matching/fields.ts";
import type { Atom, Expression } from "@noisefloor/ingest/tagging/rule.ts";
import { sampleOf } from "./sample.ts";

/** The texts that a field has to hold. */
type FieldTexts = { whole?: string; start: string; middle: string; end: string };
type Example = Record<string, string | number | string[]>;

/**
 * Makes an example of a rule out of its own values: of alternatives the first, and of what must not be nothing. It need
 * not match, so the caller has to try it.
 * @returns undefined for rules that are about networks or about what is missing, and for some regular expressions.
 */
export function exampleOf(expression: Expression): Example | undefined {
  const fields = new Map<string, FieldTexts>();
  const example: Example = {};
  if (!collect(expression, fields, example)) return undefined;
  for (const [field, texts] of fields) example[field] = textOf(texts);
  const { uri, path, query, ...others } = example;
  if (uri === undefined || (path ?? query) === undefined)
    return Object.keys(example).length === 0 ? undefined : example;
  // An example has a URI, or a path and a query.
  const target = String(uri).replace(/(?=\?)|$/, () => String(path ?? ""));
  return { ...others, uri: query === undefined ? target : `${target}${target.includes("?") ? "&" : "?"}${query}` };
}

const textOf = ({ whole, start, middle, end }: FieldTexts) => whole ?? `${start}${middle}${end}`;

function collect(expression: Expression, fields: Map<string, FieldTexts>, example: Example): boolean {
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

function add(atom: Atom, fields: Map<string, FieldTexts>, example: Example): boolean {
  switch (atom.kind) {
    case "number":
      if (atom.operator === "equals") example[atom.field] = atom.value;
      return atom.operator === "equals";
    case "network":
      return false;
    case "exists":
      return addText(fields, example, atom.field, "contains", "x");
    case "text":
      return addText(fields, example, atom.field, atom.operator, atom.text);
    case "wildcard": {
      const segments = atom.pattern.segments.map((segment) => segment.map((character) => character ?? "x").join(""));
      return addText(fields, example, atom.field, "contains", segments.join(""));
    }
    case "regex": {
      const sample = sampleOf(atom.regex.source);
      return sample !== undefined && addText(fields, example, atom.field, "contains", sample);
    }
  }
}

/** A field of which an observation may have several gets a value of its own for each text. */
function addText(
  fields: Map<string, FieldTexts>,
  example: Example,
  name: FieldName,
  operator: string,
  text: string,
): true {
  const field = fieldOf(name);
  if (field.type === "text" && field.isList) {
    example[name] = [...[example[name] ?? []].flat().map(String), text];
    return true;
  }
  const texts = fields.get(name) ?? { start: "", middle: "", end: "" };
  fields.set(name, texts);
  if (operator === "equals") texts.whole = text;
  else if (operator === "startswith") texts.start = text;
  else if (operator === "endswith") texts.end = text;
  else texts.middle += text;
  return true;
}
