import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import type { TimeRange } from "./replace.ts";

/**
 * A table that exists while observations are gone, or have lost tags, that the rollups may still count. It outlives a
 * process that is killed, so that the next one replaces the rollups.
 */
export const STALE_ROLLUPS = "stale_rollups";

/** Beside it, the addresses that observations are gone of. */
export const STALE_ADDRESSES = "stale_addresses";
const ADDRESSES_PER_ROW = 50_000;

const exists = defineQuery({
  name: "stale-rollups-exists",
  sql: "SELECT count() AS tables FROM system.tables WHERE database = currentDatabase() AND name = {table:String}",
  params: z.object({ table: z.string() }),
  row: z.object({ tables: z.int() }),
});

const range = defineQuery({
  name: "stale-rollups",
  sql: `SELECT min(first) AS first, max(last) AS last FROM ${STALE_ROLLUPS} HAVING count() > 0`,
  params: z.object({}),
  row: z.object({ first: z.int(), last: z.int() }),
});

/** The times whose rollups may be stale; undefined when none are. */
export async function readStaleRollups(client: ClickHouseClient): Promise<TimeRange | undefined> {
  if ((await runForOne(client, exists, { table: STALE_ROLLUPS })).tables === 0) return undefined;
  const [found] = await run(client, range, {});
  return found && { from: found.first, to: found.last };
}

export async function markRollupsStale(client: ClickHouseClient, { from, to }: TimeRange): Promise<void> {
  await client.command({
    query: `CREATE TABLE IF NOT EXISTS ${STALE_ROLLUPS} (first Int64, last Int64) ENGINE = TinyLog`,
  });
  await client.insert({ table: STALE_ROLLUPS, values: [{ first: from, last: to }], format: "JSONEachRow" });
}

/** @param addresses IPv4 as numbers. */
export async function markAddressesStale(client: ClickHouseClient, addresses: Uint32Array): Promise<void> {
  await createAddresses(client);
  for (let start = 0; start < addresses.length; start += ADDRESSES_PER_ROW) {
    const values = [{ addresses: Array.from(addresses.subarray(start, start + ADDRESSES_PER_ROW)) }];
    await client.insert({ table: STALE_ADDRESSES, values, format: "JSONEachRow" });
  }
}

const staleAddresses = defineQuery({
  name: "stale-addresses",
  sql: `SELECT sum(length(addresses)) AS addresses FROM ${STALE_ADDRESSES}`,
  params: z.object({}),
  row: z.object({ addresses: z.int() }),
});

/** How many addresses {@link markAddressesStale} has marked. */
export async function countStaleAddresses(client: ClickHouseClient): Promise<number> {
  await createAddresses(client);
  return (await runForOne(client, staleAddresses, {})).addresses;
}

const createAddresses = (client: ClickHouseClient) =>
  client.command({
    query: `CREATE TABLE IF NOT EXISTS ${STALE_ADDRESSES} (addresses Array(UInt32)) ENGINE = TinyLog`,
  });

export async function unmarkStaleRollups(client: ClickHouseClient): Promise<void> {
  await client.command({ query: `DROP TABLE IF EXISTS ${STALE_ADDRESSES} SYNC` });
  await client.command({ query: `DROP TABLE IF EXISTS ${STALE_ROLLUPS} SYNC` });
}
