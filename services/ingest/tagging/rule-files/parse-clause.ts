import { lastAddress, parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import {
  type FieldName,
  fieldNames,
  fieldOf,
  isFieldName,
  type NumberFieldName,
  numberField,
  type TextFieldName,
  textField,
} from "../matching/fields.ts";
import { compileRegex } from "../matching/regex.ts";
import { foldCase, type TextForm } from "../matching/text-form.ts";
import { readWildcards } from "../matching/wildcard.ts";
import type { Atom, Expression } from "../rule.ts";
import type { Report } from "./report.ts";

const COMPARISONS = ["contains", "startswith", "endswith", "re", "cidr", "exists", "lt", "lte", "gt", "gte"] as const;
type Comparison = (typeof COMPARISONS)[number];
const OPTIONS = ["all", "cased", "raw"] as const;
type Option = (typeof OPTIONS)[number];

/** Which comparisons each type of field takes, besides none at all (equals). */
const ALLOWED = {
  text: ["contains", "startswith", "endswith", "re", "exists"],
  number: ["lt", "lte", "gt", "gte", "exists"],
  address: ["cidr", "exists"],
} as const satisfies Readonly<Record<string, readonly Comparison[]>>;

/** A rule with more could fill the memory of the automaton. */
const MAX_VALUES = 2_000;
const MAX_VALUE_LENGTH = 4_096;

type Key = {
  readonly key: string;
  readonly field: FieldName;
  readonly comparison: Comparison | undefined;
  readonly options: ReadonlySet<Option>;
};

const isOneOf = <T extends string>(list: readonly T[], text: string): text is T => list.some((one) => one === text);

/**
 * Reads a field of a rule with its value or values.
 * @returns undefined when it was reported as wrong.
 */
export function parseClause(text: string, value: unknown, report: Report): Expression | undefined {
  const key = parseKey(text, report);
  if (key === undefined) return undefined;
  if (key.comparison === "exists") return parseExists(key, value, report);
  const values = Array.isArray(value) ? value : [value];
  if (!isGoodList(key, value, values, report)) return undefined;
  const atoms = values.flatMap((one) => parseValue(key, one, report) ?? []);
  if (atoms.length < values.length) return undefined;
  return { kind: "clause", key: text, needs: key.options.has("all") ? "all" : "any", atoms };
}

function parseKey(key: string, report: Report): Key | undefined {
  const [field = "", ...modifiers] = key.split("|");
  if (!isFieldName(field)) {
    report.error(`${key}: there is no field "${field}"; fields are ${fieldNames().join(", ")}`);
    return undefined;
  }
  const { type } = fieldOf(field);
  const options = new Set<Option>();
  let comparison: Comparison | undefined;
  for (const modifier of modifiers) {
    const problem = checkModifier(field, modifier, comparison, options);
    if (problem !== undefined) {
      report.error(`${key}: ${problem}`);
      return undefined;
    }
    if (isOneOf(OPTIONS, modifier)) options.add(modifier);
    else if (isOneOf(COMPARISONS, modifier)) comparison = modifier;
  }
  if (type === "text" && comparison === "exists" && options.size > 0) {
    report.error(`${key}: exists takes no other modifier`);
    return undefined;
  }
  return { key, field, comparison, options };
}

function checkModifier(
  field: FieldName,
  modifier: string,
  comparison: Comparison | undefined,
  options: ReadonlySet<string>,
): string | undefined {
  const described = fieldOf(field);
  const { type } = described;
  if (options.has(modifier) || comparison === modifier) return `the modifier "${modifier}" stands twice`;
  if (isOneOf(OPTIONS, modifier)) {
    if (described.type !== "text") return `the modifier "${modifier}" is for texts, and ${field} is ${NOUNS[type]}`;
    if (modifier === "raw" && !described.isDecoded) {
      const decoded = fieldNames().filter(isDecoded);
      return `"raw" is for the fields that are URL-decoded: ${decoded.join(", ")}`;
    }
    return undefined;
  }
  if (!isOneOf(COMPARISONS, modifier)) {
    return `there is no modifier "${modifier}"; modifiers are ${[...COMPARISONS, ...OPTIONS].join(", ")}`;
  }
  if (!isOneOf<Comparison>(ALLOWED[type], modifier)) {
    const others = type === "text" ? [...ALLOWED.text, ...OPTIONS] : ALLOWED[type];
    return `${field} is ${NOUNS[type]} and takes no modifier "${modifier}", only ${others.join(", ")}`;
  }
  if (comparison !== undefined) return `"${comparison}" and "${modifier}" cannot be combined`;
  return undefined;
}

const NOUNS = { text: "a text", number: "a number", address: "an address" } as const;

function isDecoded(name: FieldName): boolean {
  const field = fieldOf(name);
  return field.type === "text" && field.isDecoded;
}

function parseExists({ key, field }: Key, value: unknown, report: Report): Expression | undefined {
  if (typeof value !== "boolean") {
    report.error(`${key}: takes true or false`);
    return undefined;
  }
  const clause: Expression = { kind: "clause", key, needs: "any", atoms: [{ kind: "exists", field }] };
  return value ? clause : { kind: "not", part: clause };
}

function isGoodList(
  { key, field, comparison, options }: Key,
  value: unknown,
  values: readonly unknown[],
  report: Report,
) {
  const problem = () => {
    if (values.length === 0) return "the list is empty";
    if (values.length > MAX_VALUES) return `has ${values.length} values, at most ${MAX_VALUES} are allowed`;
    if (!options.has("all")) {
      const isLimit = fieldOf(field).type === "number" && comparison !== undefined;
      return isLimit && Array.isArray(value) ? "takes one number, no list" : undefined;
    }
    if (values.length < 2) return '"all" takes a list of at least two values';
    const described = fieldOf(field);
    const isSingle = described.type === "text" && !described.isList && comparison === undefined;
    return isSingle && values.every((one) => typeof one === "string" && !/[*?]/.test(one))
      ? "an observation has only one, which cannot equal all of these values"
      : undefined;
  };
  const mistake = problem();
  if (mistake !== undefined) report.error(`${key}: ${mistake}`);
  return mistake === undefined;
}

function parseValue(key: Key, value: unknown, report: Report): Atom | undefined {
  const fail = (message: string) => {
    report.error(`${key.key}: ${message}`);
    return undefined;
  };
  if (value === null || value === undefined || value === "") {
    return fail(`has an empty value; "${key.field}|exists: false" asks for observations without one`);
  }
  const { field } = key;
  if (isNumberField(field)) return parseNumber(field, key, value, fail);
  if (typeof value !== "string") {
    return fail(
      typeof value === "object"
        ? "takes a text or a list of texts"
        : `takes a text: write "${String(value)}" in quotes`,
    );
  }
  if (value.length > MAX_VALUE_LENGTH) return fail(`a value is longer than ${MAX_VALUE_LENGTH} characters`);
  if (!value.isWellFormed()) return fail("a value is not well-formed Unicode");
  return isTextField(field) ? parseText(field, key, value, report) : parseAddress(key, value, fail);
}

type Fail = (message: string) => undefined;

const isNumberField = (field: FieldName): field is NumberFieldName => fieldOf(field).type === "number";
const isTextField = (field: FieldName): field is TextFieldName => fieldOf(field).type === "text";

function parseNumber(field: NumberFieldName, { comparison }: Key, value: unknown, fail: Fail): Atom | undefined {
  if (typeof value !== "number" || !Number.isSafeInteger(value)) return fail("takes a whole number");
  const { max } = numberField(field);
  if (value < 0 || value > max) return fail(`${value} is not between 0 and ${max}`);
  const operator =
    comparison === "lt" || comparison === "lte" || comparison === "gt" || comparison === "gte" ? comparison : "equals";
  return { kind: "number", field, operator, value };
}

function parseAddress({ comparison }: Key, value: string, fail: Fail): Atom | undefined {
  if (comparison === undefined && value.includes("/"))
    return fail(`takes an address; for networks write source_ip|cidr`);
  const network = parseNetwork(value);
  if (typeof network === "string") return fail(`"${value}": ${network}`);
  return { kind: "network", source: value, first: network.first, last: lastAddress(network) };
}

function parseText(field: TextFieldName, key: Key, value: string, report: Report): Atom | undefined {
  const { comparison, options } = key;
  const form: TextForm = options.has("raw")
    ? options.has("cased")
      ? "raw-cased"
      : "raw"
    : options.has("cased")
      ? "cased"
      : "normal";
  const isCased = options.has("cased");
  if (comparison === "re") {
    const regex = compileRegex(value, isCased);
    if (typeof regex === "string") {
      report.error(`${key.key}: "${value.slice(0, 100)}" ${regex}`);
      return undefined;
    }
    if (regex.literals.length === 0) {
      report.warning(
        `${key.key}: "${value.slice(0, 100)}" has no fixed text that could be looked for first, so it is slow`,
      );
    }
    return { kind: "regex", field, form, regex };
  }
  const folded = isCased ? value : foldCase(value);
  if (!options.has("raw") && textField(field).isDecoded && /%[0-9a-f]{2}/i.test(value)) {
    report.warning(`${key.key}: "${value}" is URL-encoded, but ${field} is decoded before it is compared; use |raw`);
  }
  if (comparison === "contains" || comparison === "startswith" || comparison === "endswith") {
    if (folded.includes("*")) {
      report.warning(`${key.key}: the * in "${value}" stands for itself; wildcards work without a modifier only`);
    }
    return { kind: "text", field, form, operator: comparison, text: folded };
  }
  const pattern = readWildcards(folded);
  if (typeof pattern !== "string") return { kind: "wildcard", field, form, source: value, pattern };
  const { takes } = textField(field);
  if (takes !== undefined && !takes.pattern.test(pattern)) {
    report.error(`${key.key}: "${value}" can never match; it takes ${takes.description}`);
    return undefined;
  }
  return { kind: "text", field, form, operator: "equals", text: pattern };
}
