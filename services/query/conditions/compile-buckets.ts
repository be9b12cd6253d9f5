import type { Bind } from "@noisefloor/clickhouse/client/bound-values.ts";
import { FACETS } from "@noisefloor/clickhouse/facets/facets.ts";
import { type AddressSet, type FacetSet, keyOf, type SetQuery, visitTree } from "./address-set.ts";
import { textMerger } from "./merge-texts.ts";
import { readSetsSql } from "./read-sets.ts";
import { facetOf, type SetContext, type SetSource, setSource, timeSql } from "./set-sql.ts";
import { textSql } from "./text-sql.ts";

/** A search whose conditions are about the observations of one address in one bucket of time. */
export type BucketConditions = {
  /** SQL: for each condition a column over the observations of an address in a bucket. */
  readonly columns: readonly string[];
  /**
   * SQL: a SELECT of addresses as numbers, `ip`, each with the numbers of the conditions, `lists`, that the address
   * alone decides and that hold for it; undefined without such conditions.
   */
  readonly listed: string | undefined;
  /** SQL: whether they match, by these columns and by `lists`. */
  readonly matches: string;
};

/** Unlike that of a search over rollups, it reads observations: no rollup has the values of an hour. */
export function compileForBuckets(query: SetQuery, context: SetContext): BucketConditions {
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
  return { matches, columns, listed: listed.length === 0 ? undefined : listedSql(listed, context.bind) };
}

/** Networks are read once for all conditions on them: there may be hundreds. */
function listedSql(sources: readonly SetSource[], bind: Bind): string {
  return `SELECT arrayJoin(bitmapToArray(addresses)) AS ip, groupArray(toUInt16(number)) AS lists
    FROM (${readSetsSql(sources, bind)}) GROUP BY ip`;
}

/** SQL: whether an observation of the group is as the condition asks for; of `counted`, whether their number is. */
function columnSql(set: Exclude<AddressSet, { type: "listed" }>, context: SetContext): string {
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

function facetSql({ field, match, after }: FacetSet, { bind, isOwnSensorsOnly }: SetContext): string {
  const { facet, value } = facetOf(field);
  const values = FACETS[facet];
  const isMatch = () => {
    // Values are not empty, but for a part of one.
    if (match.type === "exists" && field === facet) return `notEmpty(${values})`;
    if (match.type === "in" && field === facet) return `hasAny(${values}, ${bind("Array(String)", match.texts)})`;
    return `arrayExists(value -> ${textSql(value("value"), match, bind)}, ${values})`;
  };
  return [
    isMatch(),
    ...(facet === "sensor" && isOwnSensorsOnly ? ["dataset = 'personal'"] : []),
    ...(after === undefined ? [] : [`observed_at >= ${timeSql(after, bind)}`]),
  ].join(" AND ");
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
