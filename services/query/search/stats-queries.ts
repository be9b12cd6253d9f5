import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import type { FacetField } from "@noisefloor/clickhouse/facets/facets.ts";
import { NETWORK_ASN, NETWORK_ORGANIZATION } from "@noisefloor/clickhouse/facets/network-value.ts";
import { ATTACK_TAG_ID } from "@noisefloor/domain/tags/attack.ts";
import { z } from "zod";
import { type CompiledSearch, searchParams } from "../conditions/compile-bitmaps.ts";
import { facetRows } from "../scope-sql.ts";

/** There may be as many values as observations: above this, ClickHouse groups on disk. */
const MAX_BYTES_IN_MEMORY = 256 * 1024 * 1024;

/** Fields by which addresses are counted: networks by their numbers and by their names. */
export type CountedField = Exclude<FacetField, "network"> | "asn" | "organization";

/** SQL: pairs of a field and a value. */
const COUNTED_PARTS = `arrayJoin(if(field = 'network',
    [('asn', if(value < '0000000001', '', concat('AS', toString(${NETWORK_ASN})))),
      ('organization', ${NETWORK_ORGANIZATION})],
    [(toString(field), value)]))`;

/**
 * The addresses of a search by their values: for each facet the `limit` values with the most addresses, ties by value.
 * An address counts under each value that it has.
 */
export function countByValue({ sql, scopes }: CompiledSearch, facets: readonly FacetField[]) {
  const counted = facets.includes("network") ? COUNTED_PARTS : "(toString(field), value)";
  // The keys of the table cannot say which rows are of these addresses.
  const rows = `SELECT counted.1 AS field, counted.2 AS value, uniqExact(source_ip) AS count FROM (
      SELECT source_ip, ${counted} AS counted FROM ${facetRows(facets, scopes)}
        AND (field, value) != ('tag', '${ATTACK_TAG_ID}')
        AND toUInt32(source_ip) IN (SELECT arrayJoin(bitmapToArray(found)) FROM (${sql})))
    WHERE counted.2 != ''
    GROUP BY field, value`;
  const order = "ORDER BY field, count DESC, value LIMIT {limit:UInt32} BY field";
  const settings = `SETTINGS use_index_for_in_with_subqueries = 0, max_bytes_before_external_group_by = ${MAX_BYTES_IN_MEMORY}`;
  return defineQuery({
    name: "search-by-values",
    sql: `${rows} ${order} ${settings}`,
    perServer: `${rows} ${settings}`,
    combine: (results) =>
      `SELECT result.field AS field, result.value AS value, sum(result.count) AS count FROM ${results} AS result
        GROUP BY field, value ${order}`,
    params: searchParams.extend({ limit: z.int() }),
    row: z.object({ field: z.string(), value: z.string(), count: z.int() }),
  });
}
