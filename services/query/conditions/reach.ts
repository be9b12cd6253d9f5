import { type AddressSet, type FacetSet, type SetQuery, visitTree } from "./address-set.ts";

/** Fields whose values many addresses have: to look all of them up takes longer than to read who was seen. */
const COMMON: ReadonlySet<FacetSet["field"]> = new Set([
  "seen",
  "tag",
  "country",
  "port",
  "protocol",
  "method",
  "region",
  "sensor",
]);

/**
 * Sets of which every address that matches has at least one, so that one seen with it since `reach` (milliseconds since
 * 1970 UTC) is in reach; none where all that match are; undefined where there are none of few addresses.
 */
export function anchorsOf(query: SetQuery, reach: number): readonly FacetSet[] | undefined {
  const isAnchor = (set: AddressSet): set is FacetSet =>
    set.type === "facet" && set.match.type === "in" && set.after === undefined && !COMMON.has(set.field);
  return visitTree<readonly FacetSet[] | undefined>({
    constant: (value) => (value ? undefined : []),
    set(set) {
      if (set.type === "facet" && set.after !== undefined && set.after >= reach) return [];
      return isAnchor(set) ? [set] : undefined;
    },
    not: () => undefined,
    and: (of) => of.flatMap((anchors) => (anchors === undefined ? [] : [anchors])).toSorted(byLength)[0],
    or: (of) => (of.every((anchors) => anchors !== undefined) ? of.flat() : undefined),
  })(query);
}

const byLength = (one: readonly FacetSet[], other: readonly FacetSet[]) => one.length - other.length;
