import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { ADDRESS_TAGS } from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";
import { lookUpAddresses, RECORD_COLUMNS } from "../address/lookup-queries.ts";
import { allRows, IN_SCOPES, scopesParam } from "../scope-sql.ts";

/** The addresses from `first` to `last`, both inclusive, that were seen since `since` (milliseconds). */
const IN_NETWORK = `FROM ${ADDRESS_TAGS}
    WHERE source_ip BETWEEN toIPv4({first:UInt32}) AND toIPv4({last:UInt32}) AND ${IN_SCOPES}
      AND last_seen >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')`;
const inNetwork = { first: z.int(), last: z.int(), scopes: scopesParam, since: z.int() };

/** The same as {@link lookUpAddresses} for the first addresses of a network. In their order, it ends at the limit. */
export const listNetwork = defineQuery({
  name: "network-list",
  sql: `SELECT ${RECORD_COLUMNS} ${IN_NETWORK}
    GROUP BY source_ip ORDER BY source_ip LIMIT {limit:UInt32} SETTINGS optimize_aggregation_in_order = 1`,
  combine: (results) => `${allRows(results)} ORDER BY toIPv4(ip) LIMIT {limit:UInt32}`,
  params: z.object({ ...inNetwork, limit: z.int() }),
  row: lookUpAddresses.row,
});

export const countNetwork = defineQuery({
  name: "network-total",
  sql: `SELECT uniqExact(source_ip) AS total_ips ${IN_NETWORK}`,
  combine: (results) => `SELECT sum(total_ips) AS total_ips FROM ${results}`,
  params: z.object(inNetwork),
  row: z.object({ total_ips: z.int() }),
});
