import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { numberColumn } from "../client/native.ts";
import { defineQuery, runForOne } from "../client/query.ts";

const removedAddresses = defineQuery({
  name: "removed-addresses",
  sql: `SELECT groupUniqArrayArray(addresses) AS removed FROM removed_addresses
    WHERE removed_at > now64(3, 'UTC') - toIntervalDay(1)`,
  params: z.object({}),
  row: z.object({ removed: numberColumn }),
  format: "Native",
});

/** The addresses of which observations were removed in the last day, as numbers. */
export async function readRemovedAddresses(client: ClickHouseClient): Promise<ReadonlySet<number>> {
  return new Set((await runForOne(client, removedAddresses, {})).removed);
}
