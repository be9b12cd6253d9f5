import { ATTACK_TAG } from "@noisefloor/clickhouse/client/attack-sql.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { ADDRESS_NETWORKS, ADDRESS_VALUES, SCOPE_TAGS } from "@noisefloor/clickhouse/client/table-names.ts";
import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import { z } from "zod";
import { inScopes } from "../scope-sql.ts";
import type { CompiledSearch } from "../search-sets/compile.ts";
import { searchParams } from "./queries.ts";

/** How many addresses a search has, and how many of these match each of its narrower ones. */
export const countNarrower = ({ sql }: CompiledSearch) =>
  defineQuery({
    name: "search-counts",
    sql: `SELECT bitmapCardinality(found) AS count, bitmapCardinality(matching) AS matching, narrower FROM (${sql})`,
    combine: (results) => `SELECT sum(result.count) AS count, sum(result.matching) AS matching,
        sumForEach(result.narrower) AS narrower FROM ${results} AS result`,
    params: searchParams,
    row: z.object({ count: z.int(), matching: z.int(), narrower: z.array(z.int()) }),
  });

/** The most that a list of statistics has. */
export const MAX_ENTRIES = 10_000;

/**
 * The addresses of a search by their values: for each kind those with the most first, ties by value. An address counts
 * under each value that it has.
 * @param scopes how many.
 */
export function countByValues({ sql }: CompiledSearch, scopes: number) {
  const stored = `${inScopes(scopes)} AND last_seen >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')`;
  const values = `SELECT source_ip, arrayJoin([('organization', toString(organization)), ('country', toString(country)),
      ('asn', if(asn = 0, '', concat('AS', toString(asn))))]) AS counted
    FROM ${ADDRESS_NETWORKS} WHERE ${stored}
    UNION ALL SELECT source_ip, ('tag', toString(tag_id)) AS counted
    FROM ${SCOPE_TAGS} WHERE ${stored} AND tag_id NOT IN (toUUID('${NIL_TAG_ID}'), ${ATTACK_TAG})`;
  // The keys of the tables cannot say which rows are of these addresses.
  const counted = `SELECT counted.1 AS kind, counted.2 AS value, uniqExact(source_ip) AS count FROM (${values})
    WHERE toUInt32(source_ip) IN (SELECT arrayJoin(bitmapToArray(found)) FROM (${sql})) AND counted.2 != ''
    GROUP BY kind, value`;
  const order = `ORDER BY kind, count DESC, value LIMIT ${MAX_ENTRIES} BY kind`;
  const settings = "SETTINGS use_index_for_in_with_subqueries = 0";
  return defineQuery({
    name: "search-by-values",
    sql: `${counted} ${order} ${settings}`,
    perServer: `${counted} ${settings}`,
    combine: (results) =>
      `SELECT result.kind AS kind, result.value AS value, sum(result.count) AS count FROM ${results} AS result
        GROUP BY kind, value ${order}`,
    params: searchParams,
    row: z.object({ kind: z.enum(["organization", "country", "asn", "tag"]), value: z.string(), count: z.int() }),
  });
}

const ACTIONS = ["port", "path", "user_agent", "ja3", "ja4", "hassh"] as const;

/** There may be as many values as observations: above this, ClickHouse groups on disk. */
const MAX_BYTES_IN_MEMORY = 256 * 1024 * 1024;

/**
 * The addresses of a search by what they did: for each field the `limit` values with the most addresses, ties by value.
 * A port is its five digits, a slash and the transport.
 */
export function countByActions({ sql }: CompiledSearch, scopes: number) {
  const counted = `SELECT toString(field) AS field, value, uniqExact(source_ip) AS count FROM ${ADDRESS_VALUES}
    WHERE ${inScopes(scopes)} AND last_seen >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
      AND field IN (${ACTIONS.map((name) => `'${name}'`).join(", ")})
      AND toUInt32(source_ip) IN (SELECT arrayJoin(bitmapToArray(found)) FROM (${sql}))
    GROUP BY field, value`;
  const order = "ORDER BY field, count DESC, value LIMIT {limit:UInt32} BY field";
  const settings = `SETTINGS use_index_for_in_with_subqueries = 0, max_bytes_before_external_group_by = ${MAX_BYTES_IN_MEMORY}`;
  return defineQuery({
    name: "search-by-actions",
    sql: `${counted} ${order} ${settings}`,
    perServer: `${counted} ${settings}`,
    combine: (results) =>
      `SELECT result.field AS field, result.value AS value, sum(result.count) AS count FROM ${results} AS result
        GROUP BY field, value ${order}`,
    params: searchParams.extend({ limit: z.int() }),
    row: z.object({ field: z.enum(ACTIONS), value: z.string(), count: z.int() }),
  });
}
