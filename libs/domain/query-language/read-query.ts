import { type Note, readNetwork, toCondition, toPattern, wordsOf } from "./conditions.ts";
import { type FieldKind, findField } from "./fields.ts";
import type { Condition, Query, QueryError } from "./query.ts";
import * as syntax from "./syntax.js";
import type { ConditionTree, Place, SyntaxTree } from "./syntax-tree.ts";

export const MAX_QUERY_LENGTH = 8_192;
const MAX_CONDITIONS = 500;

export type ReadQuery = { readonly query: Query } | { readonly errors: readonly QueryError[] };

/**
 * Reads a query in the search language. Source: API, the search language.
 * @param now milliseconds since 1970 UTC, for times like `7d`
 * @returns all errors that can be found at once, in the order of their places
 */
export function readQuery(text: string, now: number): ReadQuery {
  if (text.length > MAX_QUERY_LENGTH) {
    const message = `a query has at most ${MAX_QUERY_LENGTH} characters, this one ${text.length}`;
    return { errors: [{ message, position: MAX_QUERY_LENGTH, length: text.length - MAX_QUERY_LENGTH }] };
  }
  const errors: QueryError[] = [];
  const note: Note = (message, { position, length }) => void errors.push({ message, position, length });
  const query = resolve(text, errors, { now, note, conditions: 0 });
  if (query !== undefined && errors.length === 0) return { query };
  return { errors: errors.toSorted((one, other) => one.position - other.position) };
}

type Reading = { readonly now: number; readonly note: Note; conditions: number };

function resolve(text: string, errors: QueryError[], reading: Reading): Query | undefined {
  try {
    return toQuery(syntax.parse(text, { errors }), reading);
  } catch (error) {
    if (!(error instanceof syntax.SyntaxError)) throw error;
    const { start, end } = error.location;
    errors.push({ message: error.message, position: start.offset, length: end.offset - start.offset });
    return undefined;
  }
}

type Named = { readonly kind: FieldKind };

/** @param group the field before the parentheses that the tree stands in. */
function toQuery(tree: SyntaxTree, reading: Reading, group?: Named): Query {
  switch (tree.type) {
    case "and":
    case "or": {
      const of = tree.of.map((one) => toQuery(one, reading, group));
      return tree.type === "and" ? pairPorts(of) : { type: "or", of };
    }
    case "not":
      return { type: "not", of: toQuery(tree.of, reading, group) };
    case "group": {
      const kind = fieldKind(tree.name, tree, reading.note);
      return toQuery(tree.of, reading, kind ?? UNKNOWN_FIELD);
    }
    case "condition":
      return countedCondition(tree, reading, group);
  }
}

/** Its error is noted once, not once a value. */
const UNKNOWN_FIELD: Named = { kind: { kind: "without-values" } };

function fieldKind(name: string, place: Place, note: Note): Named | undefined {
  const found = findField(name);
  if ("kind" in found) return { kind: found };
  note(found.message, { position: place.position, length: name.length });
  return undefined;
}

function countedCondition(tree: ConditionTree, reading: Reading, group: Named | undefined): Query {
  const { field, value } = tree;
  reading.conditions++;
  if (reading.conditions === MAX_CONDITIONS + 1) reading.note(`a query has at most ${MAX_CONDITIONS} conditions`, tree);
  if (group !== undefined && field !== undefined) {
    reading.note("within the parentheses of a field stand only its values: write quotes around one with a colon", tree);
    return toCondition(group.kind, value, reading.now, reading.note);
  }
  const named = field === undefined ? group : fieldKind(field.name, field, reading.note);
  if (named !== undefined) return toCondition(named.kind, value, reading.now, reading.note);
  return field === undefined
    ? bareCondition(tree, reading.note)
    : toCondition(UNKNOWN_FIELD.kind, value, reading.now, reading.note);
}

/** A value without a field: an address, a network, or a text that may stand in any of a few places. */
function bareCondition({ value }: ConditionTree, note: Note): Condition {
  if (value.type === "range" || value.type === "comparison") {
    note("a range or comparison needs a field before it, as in port:[1 TO 1023]", value);
    return { type: "constant", value: false };
  }
  if (value.type === "pattern") return { type: "matches", field: "any", pattern: toPattern(value.parts) };
  const network = value.isQuoted ? undefined : readNetwork(value.text);
  if (network !== undefined) return { type: "range", field: "ip", ...network };
  const text = value.text.toLowerCase();
  return { type: "any", text, words: wordsOf(text) };
}

const isProtocol = (query: Query) => query.type === "equals" && query.field === "protocol";
const isPort = (query: Query) => query.type === "range" && query.field === "port";

/** A protocol qualifies the ports beside it: the address was seen at these ports over that protocol. */
function pairPorts(of: readonly Query[]): Query {
  const protocols = of.flatMap((one) => (one.type === "equals" && one.field === "protocol" ? [one.text] : []));
  if (protocols.length === 0 || !of.some(isPort)) return { type: "and", of };
  const paired = of.flatMap((one): readonly Query[] => {
    if (isProtocol(one)) return [];
    if (one.type !== "range" || one.field !== "port") return [one];
    const { first, last } = one;
    return protocols.map((protocol) => ({ type: "port-protocol", first, last, protocol }));
  });
  return { type: "and", of: paired };
}
