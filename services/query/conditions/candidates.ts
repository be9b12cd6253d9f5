import { ALL, and, type FacetSet, or, type SetQuery, set, visitTree } from "./address-set.ts";

/** Fields of which a value is had by nearly all addresses: to read them spares no observations. */
const BY_ALL: ReadonlySet<FacetSet["field"]> = new Set(["seen", "protocol"]);

/**
 * A search that finds at least the addresses that match in some bucket of a time, from what they did in all of it: so
 * the observations of most others are not read. Only what rollups answer is left of it.
 */
export const candidatesOf = (query: SetQuery): SetQuery =>
  visitTree<SetQuery>({
    constant: (value) => ({ type: "constant", value }),
    // An address that has it in one bucket may lack it in another.
    not: () => ALL,
    and,
    or,
    // To read observations takes as long as it would spare.
    set: (of) =>
      of.type === "observed-before" || of.type === "counted" || (of.type === "facet" && BY_ALL.has(of.field))
        ? ALL
        : set(of),
  })(query);
