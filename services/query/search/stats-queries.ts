import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { ADDRESS_NETWORKS, ADDRESS_TAGS } from "@noisefloor/clickhouse/client/table-names.ts";
import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import { z } from "zod";
import { inScopes } from "../scope-sql.ts";
import type { CompiledSearch } from "../search-sets/compile.ts";
import { searchParams } from "./queries.ts";

/** What the addresses of a search are counted by: SQL for the value as a text, and which values are none. */
const COUNTED = {
  organization: { table: ADDRESS_NETWORKS, value: "toString(organization)", isValue: "organization != ''" },
  country: { table: ADDRESS_NETWORKS, value: "toString(country)", isValue: "country != ''" },
  asn: { table: ADDRESS_NETWORKS, value: "concat('AS', toString(asn))", isValue: "asn != 0" },
  tag: { table: ADDRESS_TAGS, value: "toString(tag_id)", isValue: `tag_id != toUUID('${NIL_TAG_ID}')` },
} as const;
export type CountedBy = keyof typeof COUNTED;

/**
 * The addresses of a search by one of their values: those with the most first, ties by value. An address counts under
 * each value that it has.
 * @param scopes how many.
 */
export function countByValue({ sql }: CompiledSearch, by: CountedBy, scopes: number) {
  const { table, value, isValue } = COUNTED[by];
  const counted = `SELECT ${value} AS value, uniqExact(source_ip) AS count FROM ${table}
    WHERE ${inScopes(scopes)} AND last_seen >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND ${isValue}
      AND toUInt32(source_ip) IN (SELECT arrayJoin(bitmapToArray(found)) FROM (${sql}))
    GROUP BY value`;
  const order = "ORDER BY count DESC, value LIMIT {limit:UInt32}";
  return defineQuery({
    name: `search-by-${by}`,
    sql: `${counted} ${order}`,
    perServer: counted,
    combine: (results) =>
      `SELECT result.value AS value, sum(result.count) AS count FROM ${results} AS result GROUP BY value ${order}`,
    params: searchParams.extend({ limit: z.int() }),
    row: z.object({ value: z.string(), count: z.int() }),
  });
}
