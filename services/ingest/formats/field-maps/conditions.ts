import { z } from "zod";
import { compileRegex } from "../../tagging/matching/regex.ts";
import { at, type Fields, toText } from "../fields.ts";

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const condition = z.union(
  [
    scalar.nullable(),
    z.array(scalar).min(1),
    z.strictObject({ matches: z.string(), lacks: z.string().optional() }),
    z.strictObject({ lacks: z.string() }),
    z.strictObject({ exists: z.boolean() }),
  ],
  "takes a value, a list of values, {matches: PATTERN}, {lacks: PATTERN} or {exists: true}",
);
type Condition = z.output<typeof condition>;

/** Conditions on the fields at some paths, all of which must hold. */
export const conditionsSchema = z.record(z.string(), condition);
export type Conditions = z.output<typeof conditionsSchema>;

type Test = (value: unknown) => boolean;

/** Longer texts are matched by their beginning, so that no record takes long. */
const MAX_TEXT = 32 * 1024;

/** Tells whether all conditions hold for a record. @returns what is wrong with their patterns, by path, if anything is. */
export function compileConditions(conditions: Conditions): ((record: Fields) => boolean) | Map<string, string> {
  const tests: (readonly [path: string, test: Test])[] = [];
  const problems = new Map<string, string>();
  for (const [path, condition] of Object.entries(conditions)) {
    const test = compile(condition);
    if (typeof test === "string") problems.set(path, test);
    else tests.push([path, test]);
  }
  if (problems.size > 0) return problems;
  return (record) => tests.every(([path, test]) => test(at(record, path)));
}

function compile(condition: Condition): Test | string {
  if (condition === null || typeof condition !== "object") return isEqualTo(condition);
  if (Array.isArray(condition)) {
    const tests = condition.map(isEqualTo);
    return (value) => tests.some((test) => test(value));
  }
  if ("exists" in condition) return (value) => (value !== undefined && value !== null) === condition.exists;
  const wanted = "matches" in condition ? compileRegex(condition.matches, true) : undefined;
  if (typeof wanted === "string") return wanted;
  const unwanted = condition.lacks === undefined ? undefined : compileRegex(condition.lacks, true);
  if (typeof unwanted === "string") return unwanted;
  return (value) => {
    const whole = typeof value === "boolean" || value === "" ? String(value) : toText(value);
    const text = whole?.slice(0, MAX_TEXT);
    return text !== undefined && wanted?.matches(text) !== false && unwanted?.matches(text) !== true;
  };
}

/** Columns and groups are texts, and a sensor may write numbers so. */
function isEqualTo(expected: string | number | boolean | null): Test {
  const text = typeof expected === "string" ? undefined : String(expected);
  return (value) => value === expected || (typeof value === "string" && value === text);
}

/** Conditions in words, for people whose record does not fulfil them. */
export function formatConditions(conditions: Conditions): string {
  return Object.entries(conditions)
    .map(([path, condition]) => `${path} ${formatCondition(condition)}`)
    .join(", ");
}

function formatCondition(condition: Condition): string {
  if (condition === null || typeof condition !== "object") return JSON.stringify(condition);
  if (Array.isArray(condition)) return condition.map((value) => JSON.stringify(value)).join(" or ");
  if ("exists" in condition) return condition.exists ? "(any value)" : "(missing)";
  const lacking = condition.lacks === undefined ? [] : [`without ${condition.lacks}`];
  return ["matches" in condition ? `matching ${condition.matches}` : [], lacking].flat().join(", ");
}
