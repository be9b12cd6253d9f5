import type { NetworkKind } from "@noisefloor/clickhouse/networks/networks.ts";
import type { TextMatch } from "@noisefloor/domain/query-language/text-match.ts";

/** Fields of the table `address_values`, but for ports. Countries are codes. */
type ValueField = "path" | "user_agent" | "host" | "ja3" | "ja4" | "hassh" | "rdns" | "country";

/** Fields of few values each, which are read from the observations. */
type ObservedField = "method" | "region" | "city" | "sensor" | "transport";

/**
 * Addresses that one SELECT finds: of the caller's scopes, since the time from which a search counts. Numbers are
 * inclusive, times in milliseconds since 1970 UTC.
 */
export type AddressSet =
  /** Seen at `after` or later, or at all. */
  | { readonly type: "seen"; readonly after?: number }
  /** With an attack. */
  | { readonly type: "attacked" }
  /** Seen with one of some tags at `after` or later, or at all. */
  | { readonly type: "tagged"; readonly ids: readonly string[]; readonly after?: number }
  | { readonly type: "value"; readonly field: ValueField; readonly match: SetMatch }
  | { readonly type: "port"; readonly first: number; readonly last: number; readonly protocol?: string }
  | { readonly type: "asn"; readonly first: number; readonly last: number }
  | { readonly type: "organization"; readonly match: SetMatch }
  | { readonly type: "address"; readonly first: number; readonly last: number }
  /** In the networks of lists, or of all lists of the kind. */
  | { readonly type: "listed"; readonly kind: NetworkKind; readonly lists: readonly string[] | "any" }
  | { readonly type: "observed"; readonly field: ObservedField; readonly match: SetMatch }
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

/** Several whole texts are one condition for the server. */
export type SetMatch =
  | Exclude<TextMatch, { type: "equals" }>
  | { readonly type: "in"; readonly texts: readonly string[] };

/** A search as a tree over such sets. A constant is all addresses that were seen, or none. */
export type SetQuery =
  | { readonly type: "and" | "or"; readonly of: readonly SetQuery[] }
  | { readonly type: "not"; readonly of: SetQuery }
  | { readonly type: "constant"; readonly value: boolean }
  | { readonly type: "set"; readonly set: AddressSet };

const idTexts = new WeakMap<readonly string[], string>();

/** Equal for equal sets. Hundreds of them may share a list of thousands of ids. */
export function keyOf(set: AddressSet): string {
  if (set.type !== "tagged") return JSON.stringify(set);
  const ids = idTexts.get(set.ids) ?? set.ids.join();
  idTexts.set(set.ids, ids);
  return `tagged ${set.after} ${ids}`;
}

export const NONE: SetQuery = { type: "constant", value: false };
export const ALL: SetQuery = { type: "constant", value: true };

export const set = (of: AddressSet): SetQuery => ({ type: "set", set: of });

export function not(of: SetQuery): SetQuery {
  if (of.type === "not") return of.of;
  return of.type === "constant" ? { type: "constant", value: !of.value } : { type: "not", of };
}

export const and = (of: readonly SetQuery[]): SetQuery => join("and", of);
export const or = (of: readonly SetQuery[]): SetQuery => join("or", of);

/** Leaves out constants, parentheses that change nothing, and what is there already. */
function join(type: "and" | "or", of: readonly SetQuery[]): SetQuery {
  const deciding = type === "or";
  const flat = of.flatMap((one) => (one.type === type ? one.of : [one]));
  if (flat.some((one) => one.type === "constant" && one.value === deciding)) {
    return { type: "constant", value: deciding };
  }
  const kept = [...new Set(flat.filter((one) => one.type !== "constant"))];
  const [only, second] = kept;
  if (only === undefined) return { type: "constant", value: !deciding };
  return second === undefined ? only : { type, of: kept };
}
