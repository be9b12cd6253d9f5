import { numberColumn } from "@noisefloor/clickhouse/client/native.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { CALLBACKS } from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";
import { type CompiledSearch, searchParams } from "../../conditions/compile-bitmaps.ts";
import { inScopes, scopesParam } from "../../scope-sql.ts";

/**
 * SQL after FROM, to which conditions can be added: the namings since a time (ms since 1970 UTC) by visitors that were in
 * contact when they named a host. Anybody can forge a packet that names one.
 */
const namings = (since: string) => `${CALLBACKS} WHERE ${inScopes(1)} AND established
      AND hour >= toStartOfHour(fromUnixTimestamp64Milli({${since}:Int64}, 'UTC'))
      AND last_seen >= fromUnixTimestamp64Milli({${since}:Int64}, 'UTC')`;

/** The `limit` hosts that the visitors of a search named last, ties by host. Several servers may have the same one. */
export const newestCallbacks = ({ sql }: CompiledSearch) => {
  const inOrder = (from: string) =>
    `SELECT host FROM ${from} GROUP BY host ORDER BY max(last) DESC, host LIMIT {limit:UInt32}`;
  const rows = `SELECT host, max(last_seen) AS last FROM ${namings("from")}
        AND toUInt32(source_ip) IN (SELECT arrayJoin(bitmapToArray(found)) FROM (${sql}))
      GROUP BY host ORDER BY last DESC, host LIMIT {limit:UInt32}`;
  return defineQuery({
    name: "newest-feed-callbacks",
    sql: inOrder(`(${rows})`),
    perServer: rows,
    combine: inOrder,
    params: searchParams.extend({ limit: z.int() }),
    row: z.object({ host: z.string() }),
  });
};

/** When addresses that were named since a time were named last, in seconds since 1970 UTC. */
export const namedSince = defineQuery({
  name: "feed-callbacks-named",
  sql: `SELECT IPv4StringToNumOrDefault(host) AS address, toUInt32(toUnixTimestamp(max(last_seen))) AS seen
    FROM ${namings("from")} AND isIPv4String(host) GROUP BY address`,
  combine: (results) => `SELECT address, max(result.seen) AS seen FROM ${results} AS result GROUP BY address`,
  params: z.object({ scopes: scopesParam, from: z.int() }),
  row: z.object({ address: numberColumn, seen: numberColumn }),
  format: "Native",
});

/** What forms say of some callbacks: one row a host that is stored. Times in milliseconds since 1970 UTC. */
export const callbackItems = defineQuery({
  name: "feed-callback-items",
  sql: `SELECT host, toUnixTimestamp64Milli(min(callbacks.first_seen)) AS firstSeen,
      toUnixTimestamp64Milli(max(callbacks.last_seen)) AS lastSeen, uniqExact(source_ip) AS visitors,
      arraySort(groupUniqArrayIf(port, port != 0)) AS ports, arraySort(groupUniqArrayIf(scheme, scheme != '')) AS schemes
    FROM ${namings("since")} AND host IN {hosts:Array(String)} GROUP BY host`,
  combine: (results) => `SELECT host, min(result.firstSeen) AS firstSeen, max(result.lastSeen) AS lastSeen,
      sum(result.visitors) AS visitors, arraySort(groupUniqArrayArray(result.ports)) AS ports,
      arraySort(groupUniqArrayArray(result.schemes)) AS schemes
    FROM ${results} AS result GROUP BY host`,
  params: z.object({ hosts: z.array(z.string()), scopes: scopesParam, since: z.int() }),
  row: z.object({
    host: z.string(),
    firstSeen: z.int(),
    lastSeen: z.int(),
    visitors: z.int(),
    ports: z.array(z.int()),
    schemes: z.array(z.string()),
  }),
});
