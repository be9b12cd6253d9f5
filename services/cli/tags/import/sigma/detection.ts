import { usedSelections } from "@noisefloor/ingest/tagging/rule-files/parse-condition.ts";
import { z } from "zod";
import { ConversionError } from "../imported-rule.ts";
import type { SigmaField } from "./fields.ts";

type Fields = Readonly<Record<string, SigmaField>>;

const mapSchema = z.record(z.string(), z.unknown());
const scalarSchema = z.union([z.string(), z.number()]);
const PARTS = ["contains", "startswith", "endswith"];
const KEPT = [...PARTS, "all", "re", "cidr", "exists", "cased", "lt", "lte", "gt", "gte"];
/** Fields of ours that are URL-decoded before they are compared, which Sigma's are not. */
const DECODED = ["path", "query", "uri", "host", "user_agent", "referer"];

/** @returns a `match` of ours. @throws ConversionError */
export function convertDetection(detection: Readonly<Record<string, unknown>>, fields: Fields): unknown {
  const { condition, timeframe, ...selections } = detection;
  if (typeof condition !== "string") throw new ConversionError("condition: takes one text");
  if (timeframe !== undefined || condition.includes("|")) {
    throw new ConversionError("condition: a rule looks at one observation, and cannot count several");
  }
  // Sigma allows selections that the condition leaves out; ours reports them as mistakes.
  const used = usedSelections(condition, Object.keys(selections));
  const converted = Object.entries(selections)
    .filter(([name]) => used.has(name))
    .map(([name, selection]) => [name, convertSelection(name, selection, fields)] as const);
  return { condition, ...Object.fromEntries(converted) };
}

function convertSelection(name: string, selection: unknown, fields: Fields): unknown {
  if (Array.isArray(selection)) return selection.map((part: unknown) => convertFields(name, part, fields));
  return convertFields(name, selection, fields);
}

function convertFields(name: string, value: unknown, fields: Fields): Record<string, unknown> {
  const map = mapSchema.safeParse(value);
  if (!map.success)
    throw new ConversionError(`${name}: keywords search a whole log line, and an observation is no log line`);
  const entries = Object.entries(map.data).map(([key, one]) => convertField(key, one, fields));
  const keys = entries.map(([key]) => key);
  const double = keys.find((key, index) => keys.indexOf(key) !== index);
  if (double !== undefined) throw new ConversionError(`${name}: two of its fields are ${double} in ours`);
  return Object.fromEntries(entries);
}

function convertField(key: string, value: unknown, fields: Fields): readonly [string, unknown] {
  const [name = "", ...modifiers] = key.split("|");
  const target = fields[name];
  if (target === undefined) {
    throw new ConversionError(`${key}: an observation has no ${name}; fields are ${Object.keys(fields).join(", ")}`);
  }
  const unknown = modifiers.find(
    (modifier) => !KEPT.includes(modifier) && !(modifier === "i" && modifiers.includes("re")),
  );
  if (unknown !== undefined) throw new ConversionError(`${key}: the modifier ${unknown} is not known`);
  if (value === null) return [`${target.field}|exists`, false];
  if (modifiers.includes("exists")) return [`${target.field}|exists`, value];
  const values = z.array(scalarSchema).safeParse(Array.isArray(value) ? value : [value]);
  if (!values.success) throw new ConversionError(`${key}: takes texts and numbers`);
  const isWhole = !modifiers.some((modifier) => modifier === "contains" || modifier === "endswith");
  if (target.isPartOnly && isWhole && !values.data.every((one) => /^\*/.test(String(one)))) {
    throw new ConversionError(`${key}: only a part of it can be compared, with contains or endswith`);
  }
  return convertValues(target.field, modifiers, values.data);
}

function convertValues(
  field: string,
  modifiers: readonly string[],
  values: readonly (string | number)[],
): readonly [string, unknown] {
  if (field === "destination_port" || field === "source_ip") return [[field, ...modifiers].join("|"), unlisted(values)];
  const texts = values.map(String);
  const isRegex = modifiers.includes("re");
  const isEncoded = DECODED.includes(field) && (isRegex || texts.some((text) => /%[0-9a-f]{2}/i.test(text)));
  const raw = isEncoded ? ["raw"] : [];
  if (isRegex) {
    // Sigma's regular expressions heed case unless they are told not to.
    const cased = modifiers.includes("i") ? [] : ["cased"];
    const regexModifiers = modifiers.filter((modifier) => modifier !== "i" && modifier !== "cased");
    return [[field, ...regexModifiers, ...cased, ...raw].join("|"), unlisted(texts)];
  }
  const part = modifiers.find((modifier) => PARTS.includes(modifier));
  if (part === undefined || !texts.some(hasWildcard)) {
    return [[field, ...modifiers, ...raw].join("|"), unlisted(part === undefined ? texts : texts.map(withoutEscapes))];
  }
  // Ours take wildcards only where the whole text is compared.
  const before = part === "startswith" ? "" : "*";
  const after = part === "endswith" ? "" : "*";
  const otherModifiers = modifiers.filter((modifier) => modifier !== part);
  return [[field, ...otherModifiers, ...raw].join("|"), unlisted(texts.map((text) => `${before}${text}${after}`))];
}

const unlisted = <T>(values: readonly T[]): T | readonly T[] | undefined => (values.length === 1 ? values[0] : values);
const hasWildcard = (text: string) => /[*?]/.test(text.replaceAll(/\\[*?\\]/g, ""));
const withoutEscapes = (text: string) => text.replaceAll(/\\([*?\\])/g, "$1");
