import { type BoundValues, bindValues } from "@noisefloor/clickhouse/client/bound-values.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { z } from "zod";
import { scopesParam } from "../scope-sql.ts";
import { and, type AddressSet, keyOf, SEEN, type SetQuery, set, visitTree } from "./address-set.ts";
import { textMerger } from "./merge-texts.ts";
import { anchorsOf } from "./reach.ts";
import { countRowsSql, MAX_SETS_JOINED, readBitmapsSql } from "./read-sets.ts";
import { type SetSource, seenAgainSource, setSource, timeSql } from "./set-sql.ts";

export type CompileOptions = {
  readonly scopes: readonly Scope[];
  /** Milliseconds since 1970 UTC: what was observed since then counts. */
  readonly from: number;
  readonly isOwnSensorsOnly: boolean;
  /** Milliseconds since 1970 UTC: the plan reaches only addresses that were seen since then. */
  readonly reach?: number | undefined;
  /** Another search of which the addresses in reach are counted. */
  readonly beside?: SetQuery | undefined;
  /** The values of a SELECT that has more than the search. */
  readonly values?: BoundValues;
};

export type CompiledSearch = {
  /**
   * SQL: a SELECT of one row with two bitmaps of addresses as numbers: those `matching`, and those `found` in reach.
   * The array `narrower` has for each of the narrower searches how many addresses of `found` match it, too;
   * `beside` is how many the search beside it has.
   */
  readonly sql: string;
  /** As {@link searchParams}. */
  readonly params: { readonly scopes: Scope[]; readonly from: number; readonly [name: string]: unknown };
  /** How many scopes are searched. */
  readonly scopes: number;
  /** The sets that are read, each once. */
  readonly sets: readonly AddressSet[];
  /** SQL: as {@link countRowsSql} of these sets. */
  readonly countSets: () => string;
};

/** What a search binds, `from` in milliseconds since 1970 UTC. */
export const searchParams = z.object({ scopes: scopesParam, from: z.int() }).catchall(z.unknown());

/**
 * Compiles a search to SQL. Each set of addresses becomes one bitmap, and AND, OR and NOT are operations on bitmaps, so
 * that no condition repeats the work of another. No subquery stands for a value: each shard answers from its own rows.
 */
export function compileSearch(
  query: SetQuery,
  { scopes, from, reach, beside, values = bindValues(), isOwnSensorsOnly }: CompileOptions,
  narrower: readonly SetQuery[] = [],
): CompiledSearch {
  const { bind, params } = values;
  const context = { bind, scopes: Math.max(1, scopes.length), isOwnSensorsOnly };
  const numbers = new Map<AddressSet | string, number>();
  const sets: AddressSet[] = [];
  const sources: SetSource[] = [];
  const addSource = (source: SetSource) => sources.push(source) - 1;
  const addSet = (set: AddressSet) => {
    sets.push(set);
    return addSource(setSource(set, context));
  };
  // The same object is the same set: it may have thousands of texts.
  const numberOf = (set: AddressSet) => {
    const key = numbers.has(set) ? set : keyOf(set);
    const number = numbers.get(key) ?? addSet(set);
    numbers.set(key, number).set(set, number);
    return number;
  };
  const toBitmap = bitmapCompiler((set) => `set${numberOf(set)}`);
  const merge = textMerger();
  const merged = merge(query);
  const matching = toBitmap(merged);
  const counts = narrower.map((part) => `bitmapAndCardinality(found, ${toBitmap(merge(part))})`);
  const earlierOf = (set: AddressSet, since: number) => {
    const number = numberOf(set);
    sources[number] = { ...setSource(set, context), before: timeSql(since, bind) };
    return `earlier${number}`;
  };
  const withinReach = (since: number): string => {
    const anchors = anchorsOf(merged, since);
    if (anchors?.length === 0) return "matching";
    if (anchors === undefined || sources.length >= MAX_SETS_JOINED) {
      return `bitmapAnd(matching, set${numberOf({ ...SEEN, after: since })})`;
    }
    const again = `set${addSource(seenAgainSource(anchors, since, context))}`;
    const earlier = anchors.map((anchor) => earlierOf(anchor, since));
    return `bitmapAndnot(matching, bitmapAndnot(${joinBitmaps("bitmapOr", earlier)}, ${again}))`;
  };
  const found = reach === undefined ? "matching" : withinReach(reach);
  const inReach = reach === undefined ? [] : [set({ ...SEEN, after: reach })];
  const counted = beside === undefined ? "0" : `bitmapCardinality(${toBitmap(merge(and([beside, ...inReach])))})`;
  const bitmaps = readBitmapsSql(sources, bind);
  const sql = `SELECT ${matching} AS matching, ${found} AS found, [${counts.join(", ")}]::Array(UInt64) AS narrower,
    ${counted} AS beside FROM (${bitmaps})`;
  const countSets = () => countRowsSql(sources.slice(0, sets.length));
  return { sql, params: { ...params, scopes: [...scopes], from }, scopes: context.scopes, sets, countSets };
}

/** A bitmap of addresses, or of all others that were seen. */
type Bitmap = { readonly sql: string; readonly isComplement: boolean };

/** @param nameOf the column with the bitmap of a set. */
function bitmapCompiler(nameOf: (set: AddressSet) => string): (query: SetQuery) => string {
  const without = (all: string, ...bitmaps: readonly string[]) =>
    bitmaps.length === 0 ? all : `bitmapAndnot(${all}, ${joinBitmaps("bitmapOr", bitmaps)})`;
  const toSql = ({ sql, isComplement }: Bitmap) => (isComplement ? without(nameOf(SEEN), sql) : sql);
  const bitmap = (sql: string): Bitmap => ({ sql, isComplement: false });
  const visit = visitTree<Bitmap>({
    constant: (value) => bitmap(value ? nameOf(SEEN) : without(nameOf(SEEN), nameOf(SEEN))),
    set: (set) => bitmap(nameOf(set)),
    not: (of) => ({ ...of, isComplement: !of.isComplement }),
    or: (of) => bitmap(joinBitmaps("bitmapOr", of.map(toSql))),
    and(of) {
      const [all, excluded] = [false, true].map((isExcluded) =>
        of.flatMap(({ sql, isComplement }) => (isComplement === isExcluded ? [sql] : [])),
      );
      return bitmap(without(all?.length ? joinBitmaps("bitmapAnd", all) : nameOf(SEEN), ...(excluded ?? [])));
    },
  });
  return (query) => toSql(visit(query));
}

/** In halves: the server's parser takes only some hundred parentheses in each other. */
function joinBitmaps(operation: string, bitmaps: readonly string[]): string {
  const [only = "", second] = bitmaps;
  if (second === undefined) return only;
  const half = bitmaps.length >> 1;
  return `${operation}(${joinBitmaps(operation, bitmaps.slice(0, half))}, ${joinBitmaps(operation, bitmaps.slice(half))})`;
}
