import type { ValueField } from "@noisefloor/clickhouse/facets/facets.ts";
import type { NetworkKind } from "@noisefloor/clickhouse/networks/networks.ts";
import { isFewValued } from "@noisefloor/domain/observation/members.ts";
import type { TextMatch } from "@noisefloor/domain/query-language/text-match.ts";

/**
 * Addresses that one SELECT finds: of the caller's scopes, since the time from which a search counts. Numbers are
 * inclusive, times in milliseconds since 1970 UTC.
 */
export type AddressSet =
  | FacetSet
  | { readonly type: "address"; readonly first: number; readonly last: number }
  /** In the networks of lists, or of all lists of the kind. */
  | { readonly type: "listed"; readonly kind: NetworkKind; readonly lists: readonly string[] | "any" }
  /** With an observation before a time. */
  | { readonly type: "observed-before"; readonly before: number }
  /** By how many distinct observations, sensors or UTC days they have, since a time. */
  | {
      readonly type: "counted";
      readonly of: "observations" | "sensors" | "days";
      readonly since?: number;
      readonly first: number;
      readonly last: number;
    };

/** Addresses that were seen with a value of a facet: at `after` or later, or at any time. */
export type FacetSet = {
  readonly type: "facet";
  /** An organization is a part of the values of `network`. */
  readonly field: ValueField | "organization";
  readonly match: FacetMatch;
  readonly after?: number;
};

/** Whether the server reads observations to find a set. */
export const isOfObservations = (set: AddressSet) =>
  set.type === "facet" ? isFewValued(set.field) : set.type === "observed-before" || set.type === "counted";

/** Several whole texts are one condition for the server. */
export type FacetMatch =
  | Exclude<TextMatch, { type: "equals" }>
  | { readonly type: "in"; readonly texts: readonly string[] }
  /** From a text on and before another, as the key orders them, with some last characters. */
  | { readonly type: "between"; readonly from: string; readonly before: string; readonly ending?: string };

/** A search as a tree over such sets. A constant is all addresses that were seen, or none. */
export type SetQuery =
  | { readonly type: "and" | "or"; readonly of: readonly SetQuery[] }
  | { readonly type: "not"; readonly of: SetQuery }
  | { readonly type: "constant"; readonly value: boolean }
  | { readonly type: "set"; readonly set: AddressSet };

/** What a tree is turned into, from what its parts were turned into. */
export type Visitor<T> = {
  readonly constant: (value: boolean) => T;
  readonly set: (set: AddressSet) => T;
  readonly not: (of: T) => T;
  readonly and: (of: readonly T[]) => T;
  readonly or: (of: readonly T[]) => T;
};

/** Visits trees bottom up. A query may have the same part hundreds of times: it is visited once. */
export function visitTree<T>(visitor: Visitor<T>): (query: SetQuery) => T {
  const visited = new Map<SetQuery, { readonly result: T }>();
  const visitPart = (query: SetQuery): T => {
    switch (query.type) {
      case "constant":
        return visitor.constant(query.value);
      case "set":
        return visitor.set(query.set);
      case "not":
        return visitor.not(visit(query.of));
      case "and":
      case "or":
        return visitor[query.type](query.of.map(visit));
    }
  };
  const visit = (query: SetQuery): T => {
    const { result } = visited.get(query) ?? { result: visitPart(query) };
    visited.set(query, { result });
    return result;
  };
  return visit;
}

const joinedTexts = new WeakMap<readonly string[], string>();

/** Equal for equal sets. Hundreds of them may share a list of thousands of texts. */
export function keyOf(set: AddressSet): string {
  if (set.type !== "facet" || set.match.type !== "in") return JSON.stringify(set);
  const { texts } = set.match;
  const joined = joinedTexts.get(texts) ?? JSON.stringify(texts);
  joinedTexts.set(texts, joined);
  return `${set.field} ${set.after} ${joined}`;
}

export const NONE: SetQuery = { type: "constant", value: false };
export const ALL: SetQuery = { type: "constant", value: true };

export const set = (of: AddressSet): SetQuery => ({ type: "set", set: of });

/** Addresses that were seen with one of some values. */
export const facetIn = (field: FacetSet["field"], texts: readonly string[], after?: number): SetQuery =>
  facet(field, { type: "in", texts }, after);

export const facet = (field: FacetSet["field"], match: FacetMatch, after?: number): SetQuery =>
  set({ type: "facet", field, match, ...(after === undefined ? {} : { after }) });

/** All addresses that were seen. */
export const SEEN: FacetSet = { type: "facet", field: "seen", match: { type: "exists" } };

export function not(of: SetQuery): SetQuery {
  if (of.type === "not") return of.of;
  return of.type === "constant" ? { type: "constant", value: !of.value } : { type: "not", of };
}

export const and = (of: readonly SetQuery[]): SetQuery => join("and", of);
export const or = (of: readonly SetQuery[]): SetQuery => join("or", of);

/** Leaves out constants, parentheses that change nothing, and what is there already. */
function join(type: "and" | "or", of: readonly SetQuery[]): SetQuery {
  const deciding = type === "or";
  const flat = of.flatMap((part) => (part.type === type ? part.of : [part]));
  if (flat.some((part) => part.type === "constant" && part.value === deciding)) {
    return { type: "constant", value: deciding };
  }
  const distinct = [...new Set(flat.filter((part) => part.type !== "constant"))];
  const [only, second] = distinct;
  if (only === undefined) return { type: "constant", value: !deciding };
  return second === undefined ? only : { type, of: distinct };
}
