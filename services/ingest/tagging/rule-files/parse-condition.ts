import type { Expression } from "../rule.ts";
import type { Report } from "./report.ts";

const MAX_LENGTH = 2_000;
const MAX_DEPTH = 32;

class ConditionError extends Error {
  override name = "ConditionError";
}

/**
 * Reads Sigma's `condition`: names of selections, `and`, `or`, `not`, brackets, `1 of name*` (or `any of`), `all of
 * them`.
 * @param selections by name; those that were reported as wrong are undefined.
 * @returns undefined when it was reported as wrong.
 */
export function parseCondition(
  text: string,
  selections: ReadonlyMap<string, Expression | undefined>,
  report: Report,
): Expression | undefined {
  if (text.length > MAX_LENGTH) {
    report.error(`condition: is longer than ${MAX_LENGTH} characters`);
    return undefined;
  }
  const used = new Set<string>();
  try {
    const expression = readCondition(text, selections, used);
    const unused = [...selections.keys()].filter((name) => !used.has(name));
    for (const name of unused) report.error(`condition: the selection "${name}" is never used`);
    return [...selections.values()].includes(undefined) || unused.length > 0 ? undefined : expression;
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    report.error(`condition: ${error.message}`);
    return undefined;
  }
}

/** @returns the names that a condition uses; all of them when it is wrong, which {@link parseCondition} reports. */
export function usedSelections(text: string, names: readonly string[]): ReadonlySet<string> {
  const used = new Set<string>();
  try {
    if (text.length <= MAX_LENGTH) readCondition(text, new Map(names.map((name) => [name, undefined])), used);
    return used.size > 0 ? used : new Set(names);
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    return new Set(names);
  }
}

/** Whether "them" and patterns without a leading _ leave the selection out. */
const isSetAside = (name: string) => name.startsWith("_");

/** In the place of a selection that was reported already. */
const BROKEN: Expression = { kind: "or", parts: [] };

function readCondition(
  text: string,
  selections: ReadonlyMap<string, Expression | undefined>,
  used: Set<string>,
): Expression {
  const tokens = text.match(/[()]|[^\s()]+/g) ?? [];
  let position = 0;
  const peek = () => tokens[position]?.toLowerCase();
  const next = () => tokens[position++];

  const select = (name: string): Expression => {
    if (!selections.has(name)) {
      const known = [...selections.keys()].join(", ") || "none";
      throw new ConditionError(`there is no selection "${name}"; selections are ${known}`);
    }
    used.add(name);
    return selections.get(name) ?? BROKEN;
  };
  const selectMany = (quantity: string): Expression => {
    next();
    const pattern = next() ?? "";
    const wanted = new RegExp(pattern === "them" ? "" : `^${pattern.replaceAll("*", ".*")}$`);
    // As in Sigma, only a pattern that begins with _ takes selections whose names do.
    const isNamed = (name: string) => wanted.test(name) && (isSetAside(pattern) || !isSetAside(name));
    if (!/^[\w*]+$/.test(pattern)) throw new ConditionError(`"${quantity} of" takes a name like sel* or "them"`);
    const names = [...selections.keys()].filter(isNamed);
    if (names.length === 0) throw new ConditionError(`"${quantity} of ${pattern}": no selection has such a name`);
    return { kind: quantity === "all" ? "and" : "or", parts: names.map(select) };
  };
  const readOr = (depth: number): Expression => joined("or", readAnd, depth);
  const readAnd = (depth: number): Expression => joined("and", readNot, depth);
  const joined = (kind: "and" | "or", read: (depth: number) => Expression, depth: number): Expression => {
    const parts = [read(depth)];
    while (peek() === kind) {
      next();
      parts.push(read(depth));
    }
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only : { kind, parts };
  };
  const readNot = (depth: number): Expression => {
    if (depth > MAX_DEPTH) throw new ConditionError(`is nested more than ${MAX_DEPTH} levels deep`);
    const token = next();
    if (token === undefined) throw new ConditionError("ends where a selection is expected");
    const word = token.toLowerCase();
    if (word === "not") return { kind: "not", part: readNot(depth + 1) };
    if (word === "(") {
      const inner = readOr(depth + 1);
      if (next() !== ")") throw new ConditionError("a bracket is not closed");
      return inner;
    }
    if (peek() === "of") {
      if (!["1", "any", "all"].includes(word)) {
        throw new ConditionError(`takes "1 of", "any of" and "all of", not "${token} of"`);
      }
      return selectMany(word);
    }
    if (word === ")" || word === "and" || word === "or")
      throw new ConditionError(`"${token}" stands where a selection is expected`);
    return select(token);
  };

  const expression = readOr(0);
  const rest = next();
  if (rest !== undefined) throw new ConditionError(`"${rest}" stands where and, or, ) or the end is expected`);
  return expression;
}
