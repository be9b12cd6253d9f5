import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";
import { facetRows, IN_SCOPES, scopesParam } from "../scope-sql.ts";
import { MAX_LISTED } from "./operation.ts";

const time = (parameter: string) => `fromUnixTimestamp64Milli({${parameter}:Int64}, 'UTC')`;

/** SQL: the values of which no address has a row of before `from`, with their addresses. */
const CANDIDATES = `SELECT value, uniqExact(source_ip) AS active_ips FROM ${facetRows("path", undefined, "since")}
      GROUP BY value HAVING min(last_seen) >= ${time("from")} AND active_ips >= {minAddresses:UInt32}`;

/**
 * The HTTP paths that at least `minAddresses` addresses asked for since `from`, and none from `since` until then, both in
 * milliseconds since 1970 UTC: how many, and the first of them. A row of a facet has the last time of an address alone, so
 * the earlier observations of those that have a candidate are read, too.
 */
export const newPaths = defineQuery({
  name: "today-new-paths",
  sql: `SELECT count() AS count, arrayMap(one -> (one.2, -one.1), groupArraySorted(${MAX_LISTED})((-toInt64(active_ips), value))) AS paths
    FROM (${CANDIDATES}) WHERE value NOT IN (
      SELECT lowerUTF8(http_path) FROM ${OBSERVATIONS}
      WHERE ${IN_SCOPES} AND http_path != '' AND observed_at >= ${time("since")} AND observed_at < ${time("from")}
        AND source_ip IN (SELECT source_ip FROM ${facetRows("path")} AND value IN (SELECT value FROM (${CANDIDATES}))))`,
  params: z.object({ scopes: scopesParam, from: z.int(), since: z.int(), minAddresses: z.int() }),
  row: z.object({ count: z.int(), paths: z.array(z.tuple([z.string(), z.int()])) }),
});
