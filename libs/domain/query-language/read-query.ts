import { numberToIpv4 } from "../address/ipv4.ts";
import {
  constant,
  ipv6,
  isOnlyIpv6,
  type Note,
  type Notes,
  readNetwork,
  refuseForeign,
  starInQuotes,
  toCondition,
  toPattern,
  toWords,
} from "./conditions.ts";
import { type FieldKind, findField } from "./fields.ts";
import { type Condition, MAX_CONDITIONS, MAX_QUERY_LENGTH, type Query, type QueryError } from "./query.ts";
import * as syntax from "./syntax.js";
import type { ConditionTree, Place, SyntaxTree } from "./syntax-tree.ts";
import { findUnquotedNames, type UnquotedName } from "./unquoted-names.ts";

const TOO_MANY_CONDITIONS = `a query has at most ${MAX_CONDITIONS} conditions; each port with each protocol beside it is one`;
/** To find the nearest name compares a name with all fields. */
const MAX_SUGGESTIONS = 5;

export type ReadQuery =
  | {
      readonly query: Query;
      /** About what is no error and can match nothing, or hardly what was meant. */
      readonly warnings: readonly string[];
      readonly unquoted: readonly UnquotedName[];
    }
  | { readonly errors: readonly QueryError[] };

/**
 * Reads a query in the search language. Source: API, the search language.
 * @param now milliseconds since 1970 UTC, for times like `7d`
 * @returns all errors that can be found at once, in the order of their places
 */
export function readQuery(text: string, now: number, maxLength = MAX_QUERY_LENGTH): ReadQuery {
  if (text.length > maxLength) {
    const message = `a query has at most ${maxLength} characters, this one ${text.length}`;
    return { errors: [{ message, position: maxLength, length: text.length - maxLength }] };
  }
  if (!text.isWellFormed()) {
    const position = text.search(/\p{Cs}/u);
    return { errors: [{ message: "half a surrogate pair is no character", position, length: 1 }] };
  }
  const errors: QueryError[] = [];
  const warnings = new Set<string>();
  const unquoted: UnquotedName[] = [];
  const error: Note = (message, { position, length }) => void errors.push({ message, position, length });
  const notes: Notes = { now, error, warn: (message) => void warnings.add(message) };
  const query = resolve(text, errors, { text, notes, unquoted, conditions: 0, unknownFields: 0 });
  if (query === undefined || errors.length > 0) {
    return { errors: errors.toSorted((one, other) => one.position - other.position) };
  }
  for (const warning of warnOfConflicts(query)) warnings.add(warning);
  return { query, warnings: [...warnings], unquoted };
}

type Reading = {
  readonly text: string;
  readonly notes: Notes;
  readonly unquoted: UnquotedName[];
  conditions: number;
  unknownFields: number;
};

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

/** A field, and its name as it is written. */
type Named = { readonly kind: FieldKind; readonly name: string };

/** @param group the field before the parentheses that the tree stands in. */
function toQuery(tree: SyntaxTree, reading: Reading, group?: Named): Query {
  switch (tree.type) {
    case "and":
    case "or": {
      const of = tree.of.map((one) => toQuery(one, reading, group));
      if (tree.type === "or") return { type: "or", of };
      reading.unquoted.push(...findUnquotedNames(tree.of, reading.text, group?.kind));
      return pairPorts(of, tree.of, reading);
    }
    case "not":
      return { type: "not", of: toQuery(tree.of, reading, group) };
    case "group": {
      const named = fieldOf(tree.name, tree, reading);
      return toQuery(tree.of, reading, named ?? UNKNOWN_FIELD);
    }
    case "condition":
      return countedCondition(tree, reading, group);
  }
}

/** Its error is noted once, not once a value. */
const UNKNOWN_FIELD: Named = { kind: { kind: "without-values" }, name: "" };

function fieldOf(name: string, place: Place, reading: Reading): Named | undefined {
  const found = findField(name, reading.unknownFields < MAX_SUGGESTIONS);
  if ("kind" in found) return { kind: found, name };
  reading.unknownFields++;
  reading.notes.error(found.message, { position: place.position, length: name.length });
  return undefined;
}

/** @param place of what makes the number of conditions grow. */
function countConditions(more: number, place: Place, reading: Reading): void {
  const wereFew = reading.conditions <= MAX_CONDITIONS;
  reading.conditions += more;
  if (wereFew && reading.conditions > MAX_CONDITIONS) reading.notes.error(TOO_MANY_CONDITIONS, place);
}

function countedCondition(tree: ConditionTree, reading: Reading, group: Named | undefined): Query {
  const { field, value } = tree;
  const { notes } = reading;
  countConditions(1, tree, reading);
  if (group !== undefined && field !== undefined) {
    notes.error("within the parentheses of a field stand only its values: write quotes around one with a colon", tree);
  }
  const named = group ?? (field === undefined ? undefined : (fieldOf(field.name, field, reading) ?? UNKNOWN_FIELD));
  return named === undefined ? bareCondition(tree, reading) : toCondition(named.kind, named.name, value, notes);
}

/** With other signs around it, as in a list that was pasted. */
const ADDRESS = /(?:\d{1,3}\.){3}\d/;

/** A value without a field: an address, a network, or a text that may stand in any of a few places. */
function bareCondition({ value }: ConditionTree, { text: query, notes }: Reading): Condition {
  if (value.type === "range" || value.type === "comparison") {
    notes.error("a range or comparison needs a field before it, as in port:[1 TO 1023]", value);
    return constant(false);
  }
  if (value.type === "pattern" || !value.isQuoted) {
    refuseForeign(query.slice(value.position, value.position + value.length), value, notes.error);
  }
  if (value.type === "pattern")
    return { type: "matches", field: "any", pattern: toPattern(value.parts, value, notes.error) };
  const network = value.isQuoted ? undefined : readNetwork(value.text);
  if (network !== undefined) return { type: "range", field: "ip", ...network };
  if (!value.isQuoted && isOnlyIpv6(value.text)) return ipv6(notes);
  if (value.parts !== undefined) notes.warn(starInQuotes(value.text));
  if (!value.isQuoted && ADDRESS.test(value.text)) {
    notes.warn(`${JSON.stringify(value.text.slice(0, 64))} is no address: one stands alone, and OR between several`);
  }
  const text = value.text.toLowerCase();
  return { type: "any", text, words: toWords(text, value, notes.error) };
}

const isProtocol = (query: Query) => query.type === "equals" && query.field === "protocol";
const isPort = (query: Query) => query.type === "range" && query.field === "port";

/** A protocol qualifies the ports beside it: the address was seen at these ports over that protocol. */
function pairPorts(of: readonly Query[], trees: readonly SyntaxTree[], reading: Reading): Query {
  const protocols = of.flatMap((one) => (one.type === "equals" && one.field === "protocol" ? [one.text] : []));
  if (protocols.length === 0 || !of.some(isPort)) return { type: "and", of };
  const last = trees[of.findLastIndex(isProtocol)];
  const ports = of.filter(isPort).length;
  const more = Math.max(0, ports * protocols.length - ports - protocols.length);
  if (last !== undefined && "position" in last) countConditions(more, last, reading);
  if (reading.conditions > MAX_CONDITIONS) return { type: "and", of };
  const paired = of.flatMap((one): readonly Query[] => {
    if (isProtocol(one)) return [];
    if (one.type !== "range" || one.field !== "port") return [one];
    const { first, last } = one;
    return protocols.map((protocol) => ({ type: "port-protocol", first, last, protocol }));
  });
  return { type: "and", of: paired };
}

type Range = Extract<Condition, { readonly type: "range" }>;

/** Fields of which an address may have several values. */
const OF_SEVERAL: ReadonlySet<string> = new Set(["port", "asn"]);

/** Warnings about conditions beside each other that no address can match together. */
function warnOfConflicts(query: Query): readonly string[] {
  if (query.type === "not") return warnOfConflicts(query.of);
  if (query.type === "or") return query.of.flatMap(warnOfConflicts);
  if (query.type !== "and") return [];
  const conditions = allOf(query);
  const warnings = conditions.flatMap((one) => (one.type === "or" || one.type === "not" ? warnOfConflicts(one) : []));
  const narrowest = new Map<string, { readonly first: Range; readonly last: Range }>();
  const classes = new Set<string>();
  for (const one of conditions) {
    if (one.type === "equals" && one.field === "classification") classes.add(one.text);
    if (one.type !== "range" || OF_SEVERAL.has(one.field) || one.first > one.last) continue;
    const { first = one, last = one } = narrowest.get(one.field) ?? {};
    const both = { first: one.first > first.first ? one : first, last: one.last < last.last ? one : last };
    narrowest.set(one.field, both);
    const isFirst = first.first <= last.last;
    if (isFirst && both.first.first > both.last.last) warnings.push(disjoint(both.last, both.first));
  }
  if (classes.size > 1) warnings.push(`no address is both ${[...classes].slice(0, 2).join(" and ")}: ${WRITE_OR}`);
  return warnings;
}

const WRITE_OR = "write OR between them to find either";

/** What stands in an AND, and in those within it. */
function allOf(query: Query): readonly Exclude<Query, { readonly type: "and" }>[] {
  return query.type === "and" ? query.of.flatMap(allOf) : [query];
}

function disjoint(one: Range, other: Range): string {
  if (one.field !== "ip") return `no address matches both conditions on ${one.field}: ${WRITE_OR}`;
  return `no address is both ${showAddresses(one)} and ${showAddresses(other)}: ${WRITE_OR}`;
}

function showAddresses({ first, last }: Range): string {
  const show = (number: number) => numberToIpv4(Math.min(Math.max(number, 0), 2 ** 32 - 1));
  return first === last ? show(first) : `in ${show(first)}-${show(last)}`;
}
