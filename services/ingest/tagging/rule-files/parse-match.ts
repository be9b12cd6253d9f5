import { z } from "zod";
import type { Expression } from "../rule.ts";
import { parseClause } from "./parse-clause.ts";
import { parseCondition } from "./parse-condition.ts";
import type { Report } from "./report.ts";

const mapSchema = z.record(z.string(), z.unknown());
const MAX_PARTS = 500;

/**
 * Reads the `match` of a rule.
 * @returns undefined when it was reported as wrong.
 */
export function parseMatch(value: unknown, report: Report): Expression | undefined {
  const map = mapSchema.safeParse(value);
  if (!map.success || !Object.hasOwn(map.data, "condition")) return parseSelection("match", value, report);
  const { condition, ...named } = map.data;
  if (typeof condition !== "string") {
    report.error("condition: takes a text like: selection and not filter");
    return undefined;
  }
  const selections = new Map<string, Expression | undefined>();
  for (const [name, selection] of Object.entries(named)) {
    if (!/^[A-Za-z_]\w*$/.test(name)) {
      report.error(
        `match: beside a condition stand selections, and "${name}" is no name of one (letters, digits and _)`,
      );
      selections.set(name, undefined);
    } else selections.set(name, parseSelection(name, selection, report));
  }
  return parseCondition(condition, selections, report);
}

/** A map, whose fields must all match, or a list of maps, of which one must. */
function parseSelection(name: string, value: unknown, report: Report): Expression | undefined {
  if (!Array.isArray(value)) return parseFields(name, value, report);
  if (value.length === 0 || value.length > MAX_PARTS) {
    report.error(`${name}: a list takes 1 to ${MAX_PARTS} maps of fields`);
    return undefined;
  }
  const parts = value.map((part: unknown, index) => parseFields(`${name}[${index + 1}]`, part, report));
  return join("or", parts);
}

function parseFields(name: string, value: unknown, report: Report): Expression | undefined {
  const map = mapSchema.safeParse(value);
  if (!map.success || Object.keys(map.data).length === 0) {
    report.error(`${name}: takes a map of fields like "path|contains: /admin", or a list of such maps`);
    return undefined;
  }
  const named: Report =
    name === "match"
      ? report
      : {
          error: (message) => report.error(`${name}: ${message}`),
          warning: (message) => report.warning(`${name}: ${message}`),
        };
  return join(
    "and",
    Object.entries(map.data).map(([key, fieldValue]) => parseClause(key, fieldValue, named)),
  );
}

/** Undefined if one of the parts is: a rule is never used in part. */
function join(kind: "and" | "or", parts: readonly (Expression | undefined)[]): Expression | undefined {
  const good = parts.flatMap((part) => part ?? []);
  const [only] = good;
  if (good.length < parts.length || only === undefined) return undefined;
  return good.length === 1 ? only : { kind, parts: good };
}
