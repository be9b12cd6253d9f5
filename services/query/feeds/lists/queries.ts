import { numberColumn } from "@noisefloor/clickhouse/client/native.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";
import { type CompiledSearch, searchParams } from "../../conditions/compile-bitmaps.ts";
import { allRows, facetRows, inScopes, scopesParam } from "../../scope-sql.ts";
import { foundAddresses } from "../../search/queries.ts";

/** How many addresses match, how many match the search beside it, and all of them as numbers unless they are more than `limit`: one row a server. */
export const feedAddresses = ({ sql }: CompiledSearch) =>
  defineQuery({
    name: "feed-addresses",
    sql: `SELECT toUInt32(bitmapCardinality(found)) AS count,
        toUInt32(beside) AS beside,
        if(count <= {limit:UInt32}, bitmapToArray(found), []) AS addresses
      FROM (${sql})`,
    combine: allRows,
    params: searchParams.extend({ limit: z.int() }),
    row: z.object({ count: numberColumn, beside: numberColumn, addresses: numberColumn }),
    format: "Native",
  });

/** The `limit` addresses that were seen last, ties by address, as numbers in that order. */
export const newestAddresses = (compiled: CompiledSearch) => {
  const inOrder = (from: string, columns: string) =>
    `SELECT ${columns} FROM ${from} ORDER BY last DESC, ip LIMIT {limit:UInt32}`;
  const rows = `(${foundAddresses(compiled)})`;
  return defineQuery({
    name: "newest-feed-addresses",
    sql: inOrder(rows, "ip"),
    perServer: inOrder(rows, "ip, last"),
    combine: (results) => inOrder(`(${allRows(results)})`, "ip"),
    params: searchParams.extend({ limit: z.int() }),
    row: z.object({ ip: numberColumn }),
    format: "Native",
  });
};

const LATEST = "(observed_at, observation_id, received_at)";

/**
 * What forms say of some addresses, beside their tags: one row an address that is stored. Times in milliseconds. Of a
 * session that was stored again, the row received last counts, without FINAL, which takes several times as long.
 */
export const feedItems = defineQuery({
  name: "feed-items",
  sql: `SELECT toUInt32(source_ip) AS address, toUnixTimestamp64Milli(min(observed_at)) AS firstSeen,
      argMaxIf(asn, ${LATEST}, asn != 0) AS asn,
      argMaxIf(organization, ${LATEST}, organization != '') AS organization,
      argMaxIf(country, ${LATEST}, country != '') AS country
    FROM ${OBSERVATIONS}
    PREWHERE source_ip IN {ips:Array(IPv4)} AND ${inScopes(1)}
      AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    GROUP BY source_ip`,
  combine: allRows,
  params: z.object({ ips: z.array(z.string()), scopes: scopesParam, since: z.int() }),
  row: z.object({
    address: z.int(),
    firstSeen: z.int(),
    asn: z.int(),
    organization: z.string(),
    country: z.string(),
  }),
});

/** When addresses that were seen since a time were seen last, in seconds since 1970 UTC. */
export const seenSince = defineQuery({
  name: "feed-addresses-seen",
  sql: `SELECT toUInt32(source_ip) AS address, toUInt32(toUnixTimestamp(max(last_seen))) AS seen
    FROM ${facetRows("seen", 1)} GROUP BY source_ip`,
  combine: allRows,
  params: z.object({ scopes: scopesParam, from: z.int() }),
  row: z.object({ address: numberColumn, seen: numberColumn }),
  format: "Native",
});
