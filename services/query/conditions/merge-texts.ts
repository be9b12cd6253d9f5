import { and, type FacetSet, facetIn, not, or, type SetQuery, set, visitTree } from "./address-set.ts";

/** Makes one set of the alternatives that are whole values of a facet: `path:(/a OR /b)` is read once. */
export const textMerger = (): ((query: SetQuery) => SetQuery) =>
  visitTree<SetQuery>({ constant: (value) => ({ type: "constant", value }), set, not, and, or: mergeAlternatives });

function mergeAlternatives(of: readonly SetQuery[]): SetQuery {
  const textsOf = new Map<FacetSet["field"], (readonly string[])[]>();
  const others = of.filter((part) => {
    const { set } = { set: undefined, ...part };
    if (set?.type !== "facet" || set.match.type !== "in" || set.after !== undefined) return true;
    const lists = textsOf.get(set.field) ?? [];
    textsOf.set(set.field, lists);
    lists.push(set.match.texts);
    return false;
  });
  const merged = [...textsOf].map(([field, lists]) => {
    const [only = [], second] = lists;
    return facetIn(field, second === undefined ? only : [...new Set(lists.flat())].sort());
  });
  return or([...merged, ...others]);
}
