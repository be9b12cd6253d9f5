import type { AddressSet, SetQuery } from "./address-set.ts";

const merged = new WeakMap<SetQuery, SetQuery>();

/** Makes one set of the alternatives that are whole values of the same field: `path:(/a OR /b)` is read once. */
export function mergeTexts(query: SetQuery): SetQuery {
  if (query.type === "constant" || query.type === "set") return query;
  // A query may have the same part hundreds of times.
  const known = merged.get(query) ?? mergeParts(query);
  merged.set(query, known);
  return known;
}

function mergeParts(query: Exclude<SetQuery, { type: "constant" | "set" }>): SetQuery {
  if (query.type === "not") return { type: "not", of: mergeTexts(query.of) };
  const of = query.of.map(mergeTexts);
  if (query.type === "and") return { type: "and", of };
  const byField = new Map<string, AddressSet[]>();
  const others = of.filter((one) => {
    const key = one.type === "set" ? mergeKey(one.set) : undefined;
    if (one.type !== "set" || key === undefined) return true;
    const sets = byField.get(key);
    if (sets === undefined) byField.set(key, [one.set]);
    else sets.push(one.set);
    return false;
  });
  const sets = [...byField.values()].flatMap(mergeSets).map((one): SetQuery => ({ type: "set", set: one }));
  const [only, second] = [...sets, ...others];
  return only !== undefined && second === undefined ? only : { type: "or", of: [...sets, ...others] };
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

/** @param sets of one field. */
function mergeSets(sets: readonly AddressSet[]): readonly AddressSet[] {
  const [first, second] = sets;
  if (first === undefined || second === undefined) return sets;
  if (first.type === "tagged") {
    return [{ ...first, ids: distinct(sets.flatMap((one) => (one.type === "tagged" ? one.ids : []))) }];
  }
  if (!("match" in first) || first.match.type !== "in") throw new RangeError("sets that cannot be one");
  const texts = sets.flatMap((one) => ("match" in one && one.match.type === "in" ? one.match.texts : []));
  return [{ ...first, match: { type: "in", texts: distinct(texts) } }];
}

const distinct = (texts: readonly string[]) => [...new Set(texts)].sort();
