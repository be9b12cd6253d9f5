import { IS_ATTACK } from "@noisefloor/clickhouse/client/attack-sql.ts";
import { type Bind, bindValues } from "@noisefloor/clickhouse/client/bound-values.ts";
import { FACETS, type FacetField } from "@noisefloor/clickhouse/facets/facets.ts";
import { isFewValued } from "@noisefloor/domain/observation/members.ts";
import { ATTACK_TAG_ID } from "@noisefloor/domain/tags/attack.ts";
import {
  type AddressSet,
  ALL,
  and,
  type FacetSet,
  isOfObservations,
  keyOf,
  or,
  type SetQuery,
  set,
  visitTree,
} from "./address-set.ts";
import { type CompiledSearch, type CompileOptions, compileSearch } from "./compile-bitmaps.ts";
import { textMerger } from "./merge-texts.ts";
import { readSetsSql } from "./read-sets.ts";
import { facetOf, fewValuedSql, type SetContext, type SetSource, setSource, timeSql } from "./set-sql.ts";
import { textSql } from "./text-sql.ts";

/** A search whose conditions are about the observations of one address in one bucket of time. */
export type BucketConditions = {
  /**
   * SQL: names for the values of facets, which hundreds of columns may read. Written out in each, they would be more SQL
   * than the server takes.
   */
  readonly values: readonly string[];
  /** SQL: for each condition a column over the observations of an address in a bucket. */
  readonly columns: readonly string[];
  /**
   * SQL: a SELECT of addresses as numbers, `ip`, each with the numbers of the conditions, `lists`, that the address
   * alone decides and that hold for it; undefined without such conditions.
   */
  readonly listed: string | undefined;
  /** SQL: whether they match, by these columns and by `lists`. */
  readonly matches: string;
  /** SQL: a search of one row whose bitmap `found` has the addresses that may match; undefined for all. */
  readonly candidates: string | undefined;
  readonly params: CompiledSearch["params"];
  /** How many scopes are searched. */
  readonly scopes: number;
};

/** Unlike that of a search over rollups, it reads observations: no rollup has the values of an hour. */
export function compileForBuckets(
  query: SetQuery,
  { scopes, from, isOwnSensorsOnly }: Omit<CompileOptions, "reach" | "values">,
): BucketConditions {
  const values = bindValues();
  const facets = new Set<FacetField>();
  const valuesOf = (facet: FacetField) => {
    facets.add(facet);
    return `${facet}_values`;
  };
  const context = { bind: values.bind, scopes: Math.max(1, scopes.length), isOwnSensorsOnly, valuesOf };
  const names = new Map<string, string>();
  const columns: string[] = [];
  const listed: SetSource[] = [];
  const addCondition = (set: AddressSet) => {
    if (set.type === "listed") return `has(lists, ${listed.push(setSource(set, context)) - 1})`;
    return `set${columns.push(`${columnSql(set, context)} AS set${columns.length}`) - 1}`;
  };
  const toSql = visitTree<string>({
    constant: String,
    set(set) {
      const key = keyOf(set);
      const name = names.get(key) ?? addCondition(set);
      names.set(key, name);
      return name;
    },
    not: (of) => `NOT (${of})`,
    and: (of) => `(${of.join(" AND ")})`,
    or: (of) => `(${of.join(" OR ")})`,
  });
  const matches = toSql(textMerger()(query));
  const wider = candidatesOf(query);
  const isAll = wider.type === "constant" && wider.value;
  return {
    values: [...facets].map((facet) => `${FACETS[facet]} AS ${valuesOf(facet)}`),
    matches,
    columns,
    listed: listed.length === 0 ? undefined : listedSql(listed, context.bind),
    candidates: isAll ? undefined : compileSearch(wider, { scopes, from, isOwnSensorsOnly, values }).sql,
    params: { ...values.params, scopes: [...scopes], from },
    scopes: context.scopes,
  };
}

/**
 * A search that finds at least the addresses that match in some bucket of a time, from what they did in all of it: so
 * the observations of most others are not read. Only what rollups answer is left of it.
 */
const candidatesOf = (query: SetQuery): SetQuery =>
  visitTree<SetQuery>({
    constant: (value) => ({ type: "constant", value }),
    // An address that has it in one bucket may lack it in another.
    not: () => ALL,
    and,
    or,
    // To read observations takes as long as it would spare, and each address of the time was seen.
    set: (of) => (isOfObservations(of) || (of.type === "facet" && of.field === "seen") ? ALL : set(of)),
  })(query);

/** Networks are read once for all conditions on them: there may be hundreds. */
function listedSql(sources: readonly SetSource[], bind: Bind): string {
  return `SELECT arrayJoin(bitmapToArray(addresses)) AS ip, groupArray(toUInt16(number)) AS lists
    FROM (${readSetsSql(sources, bind)}) GROUP BY ip`;
}

/** @param valuesOf the name of a facet's values. */
type ColumnContext = SetContext & { readonly valuesOf: (facet: FacetField) => string };

/** SQL: whether an observation of the group is as the condition asks for; of `counted`, whether their number is. */
function columnSql(set: Exclude<AddressSet, { type: "listed" }>, context: ColumnContext): string {
  const { bind } = context;
  switch (set.type) {
    case "facet":
      return `max(${facetSql(set, context)})`;
    case "address":
      return `max(toUInt32(source_ip) BETWEEN ${bind("UInt32", set.first)} AND ${bind("UInt32", set.last)})`;
    case "observed-before":
      return `max(observed_at < ${timeSql(set.before, bind)})`;
    case "counted":
      return `${countedSql(set, bind)} BETWEEN ${bind("UInt64", set.first)} AND ${bind("UInt64", set.last)}`;
  }
}

function facetSql({ field, match, after }: FacetSet, { bind, isOwnSensorsOnly, valuesOf }: ColumnContext): string {
  const { facet, text } = facetOf(field);
  const isMatch = () => {
    if (isFewValued(facet)) return textSql(fewValuedSql(facet), match, bind);
    if (match.type === "in" && facet === "tag") return tagSql(match.texts, bind);
    const values = valuesOf(facet);
    // Values are not empty, but for a part of one.
    if (match.type === "exists" && field === facet) return `notEmpty(${values})`;
    if (match.type === "in" && field === facet) return isAnySql(values, match.texts, bind);
    return `arrayExists(value -> ${textSql(text, match, bind)}, ${values})`;
  };
  return [
    isMatch(),
    ...(facet === "sensor" && isOwnSensorsOnly ? ["dataset = 'personal'"] : []),
    ...(after === undefined ? [] : [`observed_at >= ${timeSql(after, bind)}`]),
  ].join(" AND ");
}

/** Binds a single text as the search for candidates does, which is then one value: the server limits their number. */
function isAnySql(values: string, texts: readonly string[], bind: Bind): string {
  const [only, second] = texts;
  if (only !== undefined && second === undefined) return `has(${values}, ${bind("String", only)})`;
  return `hasAny(${values}, ${bind("Array(String)", texts)})`;
}

/** Compares UUIDs: to make texts of them, as the facet has, would take a third of the time of all. */
function tagSql(texts: readonly string[], bind: Bind): string {
  const ids = texts.filter((id) => id !== ATTACK_TAG_ID);
  const hasTag = ids.length === 0 ? [] : [`hasAny(tags, ${bind("Array(UUID)", ids)})`];
  return `(${[...hasTag, ...(ids.length < texts.length ? [IS_ATTACK] : [])].join(" OR ")})`;
}

/** An observation that arrived twice counts once. */
const OBSERVATION = "dataset, workspace_id, observed_at, sensor_id, observation_id";

function countedSql({ of, since = 0 }: Extract<AddressSet, { type: "counted" }>, bind: Bind): string {
  switch (of) {
    case "observations":
      return `uniqExact(${OBSERVATION})`;
    case "sensors":
      return "uniqExact(sensor_id)";
    case "days":
      return `uniqExactIf(toDate(observed_at, 'UTC'), observed_at >= ${timeSql(since, bind)})`;
  }
}
