import type { ClickHouseClient } from "../client/client.ts";
import { readColumns } from "../client/columns.ts";

/** The addresses of which observations were removed in the last day, as numbers. */
export function readRemovedAddresses(client: ClickHouseClient): Promise<ReadonlySet<number>> {
  const query = {
    name: "removed-addresses",
    sql: `SELECT groupUniqArrayArray(addresses) FROM removed_addresses
      WHERE removed_at > now64(3, 'UTC') - toIntervalDay(1)`,
    settings: { readonly: "2" },
  };
  return readColumns(client, query, (row) => new Set(row.uint32s()));
}
