import { numberToIpv4 } from "../address/ipv4.ts";
import type { Condition, Query } from "./query.ts";

type Range = Extract<Condition, { readonly type: "range" }>;

/** Fields of which an address may have several values. */
const OF_SEVERAL: ReadonlySet<string> = new Set(["port", "asn"]);

/** What to tell of conditions beside each other that no address can match together. */
export function warnOfConflicts(query: Query): readonly string[] {
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
