import { type FacetSet, isOfObservations, type SetQuery, visitTree } from "./address-set.ts";

/** Fields whose values many addresses have: those seen with one before a time are more than with another. */
const COMMON: ReadonlySet<FacetSet["field"]> = new Set(["tag", "country", "port"]);

/**
 * Sets of which every address that matches has at least one, so that one seen with it since `reach` (milliseconds since
 * 1970 UTC) is in reach. Without any, all that match are in reach; undefined where there are no such sets.
 */
export function anchorsOf(query: SetQuery, reach: number): readonly FacetSet[] | undefined {
  return visitTree<readonly FacetSet[] | undefined>({
    constant: (value) => (value ? undefined : []),
    set(set) {
      if (set.type !== "facet" || isOfObservations(set)) return undefined;
      if (set.after !== undefined) return set.after >= reach ? [] : undefined;
      return set.match.type === "in" || set.match.type === "between" ? [set] : undefined;
    },
    not: () => undefined,
    and: (of) => of.flatMap((anchors) => (anchors === undefined ? [] : [anchors])).toSorted(byAddresses)[0],
    or: (of) => (of.every((anchors) => anchors !== undefined) ? of.flat() : undefined),
  })(query);
}

/** Those that are likely to have fewer addresses first. */
const byAddresses = (one: readonly FacetSet[], other: readonly FacetSet[]) => weightOf(one) - weightOf(other);
const weightOf = (sets: readonly FacetSet[]) => sets.reduce((sum, { field }) => sum + (COMMON.has(field) ? 100 : 1), 0);
