import { type AddressSet, keyOf, type SetQuery } from "./address-set.ts";
import { type BoundValues, bindValues } from "./bound-values.ts";
import { mergeTexts } from "./merge-texts.ts";
import { readBitmapsSql } from "./read-sets.ts";
import { setSource } from "./set-sql.ts";

type CompileOptions = {
  readonly scopes: number;
  readonly isOwnSensorsOnly: boolean;
  /** Milliseconds since 1970 UTC: the plan reaches only addresses that were seen since then. */
  readonly reach: number | undefined;
  /** Of a SELECT that has more than the search. */
  readonly values?: BoundValues;
};

export type CompiledSearch = {
  /**
   * SQL: a SELECT of one row with two bitmaps of addresses as numbers: those `matching`, and those `found` in reach.
   * The array `narrower` has for each of the narrower searches how many addresses of `found` match it, too.
   */
  readonly sql: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The sets that are read, each once. */
  readonly sets: readonly AddressSet[];
};

const SEEN: AddressSet = { type: "seen" };

/**
 * Compiles a search to SQL. Each set of addresses becomes one bitmap, and AND, OR and NOT are operations on bitmaps, so
 * that no condition repeats the work of another. No subquery stands for a value: each shard answers from its own rows.
 */
export function compileSearch(
  query: SetQuery,
  { reach, values = bindValues(), ...options }: CompileOptions,
  narrower: readonly SetQuery[] = [],
): CompiledSearch {
  const { bind, params } = values;
  const names = new Map<AddressSet | string, string>();
  const sets: AddressSet[] = [];
  const nameOf = (set: AddressSet) => {
    const key = keyOf(set);
    const name = names.get(key) ?? `set${sets.push(set) - 1}`;
    names.set(key, name);
    return name;
  };
  // The same object is the same set: it may have thousands of ids.
  const bitmapOf = (set: AddressSet) => {
    const name = names.get(set) ?? nameOf(set);
    names.set(set, name);
    return name;
  };
  const matching = toBitmap(mergeTexts(query), bitmapOf);
  const inReach = reach === undefined ? "matching" : `bitmapAnd(matching, ${bitmapOf({ type: "seen", after: reach })})`;
  const counts = narrower.map((one) => `bitmapAndCardinality(found, ${toBitmap(mergeTexts(one), bitmapOf)})`);
  const bitmaps = readBitmapsSql(
    sets.map((set) => setSource(set, { ...options, bind })),
    bind,
  );
  const sql = `SELECT ${matching} AS matching, ${inReach} AS found, [${counts.join(", ")}] AS narrower FROM (${bitmaps})`;
  return { sql, params, sets };
}

type BitmapOf = (set: AddressSet) => string;

function toBitmap(query: SetQuery, bitmapOf: BitmapOf): string {
  switch (query.type) {
    case "constant":
      return query.value ? bitmapOf(SEEN) : `bitmapAndnot(${bitmapOf(SEEN)}, ${bitmapOf(SEEN)})`;
    case "set":
      return bitmapOf(query.set);
    case "not":
      return `bitmapAndnot(${bitmapOf(SEEN)}, ${toBitmap(query.of, bitmapOf)})`;
    case "or":
      return joined(
        "bitmapOr",
        query.of.map((one) => toBitmap(one, bitmapOf)),
      );
    case "and": {
      const wanted = query.of.flatMap((one) => (one.type === "not" ? [] : [toBitmap(one, bitmapOf)]));
      const unwanted = query.of.flatMap((one) => (one.type === "not" ? [toBitmap(one.of, bitmapOf)] : []));
      const all = wanted.length === 0 ? bitmapOf(SEEN) : joined("bitmapAnd", wanted);
      return unwanted.length === 0 ? all : `bitmapAndnot(${all}, ${joined("bitmapOr", unwanted)})`;
    }
  }
}

/** In halves: the server's parser takes only some hundred parentheses in each other. */
function joined(operation: string, bitmaps: readonly string[]): string {
  const [only = "", second] = bitmaps;
  if (second === undefined) return only;
  const half = bitmaps.length >> 1;
  return `${operation}(${joined(operation, bitmaps.slice(0, half))}, ${joined(operation, bitmaps.slice(half))})`;
}
