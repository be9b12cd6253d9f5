import { ATTACK_TAG } from "@noisefloor/clickhouse/client/attack-sql.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { ADDRESS_NETWORKS, SCOPE_TAGS } from "@noisefloor/clickhouse/client/table-names.ts";
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
