import type { Bind } from "@noisefloor/clickhouse/client/bound-values.ts";
import { NETWORK_GENERATIONS, NETWORK_RANGES, OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import type { ValueField } from "@noisefloor/clickhouse/facets/facets.ts";
import type { NetworkKind } from "@noisefloor/clickhouse/networks/networks.ts";
import { FEW_VALUED, type FewValuedField, isFewValued } from "@noisefloor/domain/observation/members.ts";
import { facetRows, inScopes } from "../scope-sql.ts";
import { type AddressSet, type FacetSet, SEEN } from "./address-set.ts";
import { textSql } from "./text-sql.ts";

export type SetContext = {
  readonly bind: Bind;
  /** How many scopes are searched. */
  readonly scopes: number;
  /** Whether the caller may know only the sensors of its workspace. */
  readonly isOwnSensorsOnly: boolean;
};

export const timeSql = (ms: number, bind: Bind) => `fromUnixTimestamp64Milli(${bind("Int64", ms)}, 'UTC')`;
const FROM = "fromUnixTimestamp64Milli({from:Int64}, 'UTC')";

/** How the server finds the addresses of a set: several sets of the same rows can be read together. */
export type SetSource = {
  /** SQL after FROM, up to conditions: rows with a `source_ip`, in which an address may be repeated. It binds nothing. */
  readonly rows: string;
  /** SQL: which of these rows have the addresses of the set. */
  readonly condition: () => string;
  /**
   * What the condition looks at: a `range` of a key has the rows; each of the `rows`; or the column `value` alone, by a
   * condition that takes long, so that each distinct value is compared once.
   */
  readonly reading: "range" | "rows" | "values";
  /** SQL: a time. Those of rows before it are a bitmap, too. */
  readonly before?: string;
  /** With the reading `values`: the words that stand in a text of the value, and that text. */
  readonly words?: readonly string[];
  readonly text?: string;
};

/** The field whose values have the texts of another one, and SQL for the text of a `value`. */
export function facetOf(field: FacetSet["field"]): { readonly facet: ValueField; readonly text: string } {
  return field === "organization"
    ? { facet: "network", text: "lowerUTF8(substring(value, 12))" }
    : { facet: field, text: "value" };
}

/** SQL: the value of a field of few values over a row of `observations`, empty without one. */
export const fewValuedSql = (field: FewValuedField) => `lowerUTF8(${FEW_VALUED[field]})`;

/**
 * Where it can, a set is a range of a key whose addresses are in order: a bitmap of ordered numbers is made many times
 * faster than another.
 */
export function setSource(set: AddressSet, context: SetContext): SetSource {
  const { bind, scopes } = context;
  const observed = `WHERE ${inScopes(scopes)} AND observed_at >= ${FROM}`;
  const seen = () => facetSource(SEEN, context).rows;
  const of = (rows: string, condition: string, reading: SetSource["reading"] = "rows"): SetSource => ({
    rows,
    condition: () => condition,
    reading,
  });
  switch (set.type) {
    case "facet":
      return facetSource(set, context);
    case "address": {
      const address = (number: number) => `toIPv4(${bind("UInt32", number)})`;
      return of(seen(), `source_ip BETWEEN ${address(set.first)} AND ${address(set.last)}`, "range");
    }
    case "listed":
      return of(
        listedRows(set.kind, seen()),
        set.lists === "any" ? "1" : `list_id IN ${bind("Array(String)", set.lists)}`,
      );
    case "observed-before":
      return of(`${OBSERVATIONS} ${observed}`, `observed_at < ${timeSql(set.before, bind)}`);
    case "counted": {
      const later = set.since === undefined ? "" : ` AND observed_at >= ${timeSql(set.since, bind)}`;
      // FINAL: an observation that arrived twice counts once. It has one day.
      const rows = `(SELECT source_ip, ${COUNTED[set.of]} AS counted
        FROM ${OBSERVATIONS} ${set.of === "days" ? "" : "FINAL"} ${observed}${later}
        GROUP BY source_ip SETTINGS do_not_merge_across_partitions_select_final = 1) WHERE 1`;
      return of(rows, `counted BETWEEN ${bind("UInt64", set.first)} AND ${bind("UInt64", set.last)}`);
    }
  }
}

function facetSource({ field, match, after }: FacetSet, { bind, scopes, isOwnSensorsOnly }: SetContext): SetSource {
  const { facet, text } = facetOf(field);
  const isVisible = facet === "sensor" && isOwnSensorsOnly ? "AND dataset = 'personal' " : "";
  const isStored = !isFewValued(facet);
  const isRange = isStored && field !== "organization" && match.type !== "words" && match.type !== "matches";
  return {
    rows: isStored
      ? facetRows(facet, scopes)
      : `(SELECT source_ip, observed_at AS last_seen, ${fewValuedSql(facet)} AS value FROM ${OBSERVATIONS}
        WHERE ${inScopes(scopes)} ${isVisible}AND observed_at >= ${FROM}) WHERE 1`,
    condition() {
      // Values are not empty, but for a part of one.
      const isMatch = match.type === "exists" && isRange ? [] : [textSql(text, match, bind)];
      const isAfter = after === undefined ? [] : [`last_seen >= ${timeSql(after, bind)}`];
      return [...isMatch, ...isAfter].join(" AND ") || "1";
    },
    ...(match.type === "words"
      ? { reading: "values", words: match.words, text }
      : { reading: isRange ? "range" : "rows" }),
  };
}

/**
 * How the server finds who was seen since a time, of those that were seen before it with some sets: so few that the
 * key finds them, or else in about the time in which all are read.
 */
export function seenAgainSource(of: readonly FacetSet[], since: number, context: SetContext): SetSource {
  const time = timeSql(since, context.bind);
  const earlier = of.map((set) => {
    const { rows, condition } = facetSource(set, context);
    return `SELECT source_ip FROM ${rows} AND ${condition()} AND last_seen < ${time}`;
  });
  const rows = `(SELECT source_ip FROM ${facetSource(SEEN, context).rows} AND last_seen >= ${time}
      AND source_ip IN (${earlier.join(" UNION ALL ")})
    SETTINGS use_index_for_in_with_subqueries_max_values = ${MAX_LOOKUPS}) WHERE 1`;
  return { rows, condition: () => "1", reading: "range" };
}

/** To look more addresses up in the key takes the server longer than to read it. */
const MAX_LOOKUPS = 1_000;

/** SQL: what a set counts. */
const COUNTED = {
  observations: "count()",
  sensors: "uniqExact(sensor_id)",
  days: "uniqExact(toDate(observed_at, 'UTC'))",
} as const;

/**
 * SQL: the seen addresses that are in the networks of a kind, with their lists. The ranges of a kind are disjoint: the
 * last one that begins before an address is the only one that may have it.
 */
function listedRows(kind: NetworkKind, seen: string): string {
  return `(SELECT toUInt32(address.source_ip) AS source_ip, listed.list_id AS list_id
    FROM (SELECT 1 AS one, toUInt32(source_ip) AS source_ip FROM ${seen}) AS address
    ASOF JOIN (
      SELECT 1 AS one, first, last, list_id FROM ${NETWORK_RANGES}
      WHERE kind = '${kind}' AND generation = (SELECT max(generation) FROM ${NETWORK_GENERATIONS} WHERE kind = '${kind}')
    ) AS listed ON listed.one = address.one AND address.source_ip >= listed.first
    WHERE address.source_ip <= listed.last) WHERE 1`;
}
