import type { AddressSet, SetQuery } from "./address-set.ts";

/** Makes one set of the alternatives that are whole values of the same field: `path:(/a OR /b)` is read once. */
export function mergeTexts(query: SetQuery): SetQuery {
  if (query.type === "not") return { type: "not", of: mergeTexts(query.of) };
  if (query.type !== "and" && query.type !== "or") return query;
  const of = query.of.map(mergeTexts);
  if (query.type === "and") return { type: "and", of };
  const byField = new Map<string, AddressSet>();
  const others = of.filter((one) => {
    const key = one.type === "set" ? mergeKey(one.set) : undefined;
    if (one.type !== "set" || key === undefined) return true;
    const known = byField.get(key);
    byField.set(key, known === undefined ? one.set : mergeSets(known, one.set));
    return false;
  });
  const merged = [...byField.values()].map((one): SetQuery => ({ type: "set", set: one }));
  const [only, second] = [...merged, ...others];
  return only !== undefined && second === undefined ? only : { type: "or", of: [...merged, ...others] };
}

function mergeKey(set: AddressSet): string | undefined {
  switch (set.type) {
    case "value":
    case "observed":
      return set.match.type === "in" ? `${set.type} ${set.field}` : undefined;
    case "organization":
      return set.match.type === "in" ? set.type : undefined;
    case "tagged":
      return set.after === undefined ? set.type : undefined;
    default:
      return undefined;
  }
}

function mergeSets(one: AddressSet, other: AddressSet): AddressSet {
  if (one.type === "tagged" && other.type === "tagged") return { ...one, ids: distinct(one.ids, other.ids) };
  if ("match" in one && "match" in other && one.match.type === "in" && other.match.type === "in") {
    return { ...one, match: { type: "in", texts: distinct(one.match.texts, other.match.texts) } };
  }
  throw new RangeError("sets of different fields");
}

const distinct = (some: readonly string[], others: readonly string[]) => [...new Set([...some, ...others])].sort();
