import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { mutate } from "../mutations/mutate.ts";
import type { TimeRange } from "./replace.ts";

/**
 * Times in which observations are gone, have lost tags, or were stored without all views having seen them. The marks
 * outlive a process that is killed, so that the next one makes the rollups anew.
 */
const renewals = defineQuery({
  name: "rollup-renewals",
  sql: `SELECT groupArray(toString(id)) AS ids, min(from_ms) AS first, max(to_ms) AS last FROM rollup_renewals
    HAVING count() > 0`,
  params: z.object({}),
  row: z.object({ ids: z.array(z.string()), first: z.int(), last: z.int() }),
});

/** The times whose rollups may be stale, and the marks that say so. */
export type StaleRollups = { readonly stale: TimeRange; readonly marks: readonly string[] };

/** @returns undefined when no rollups are stale. */
export async function readStaleRollups(client: ClickHouseClient): Promise<StaleRollups | undefined> {
  const [found] = await run(client, renewals, {});
  return found && { stale: { from: found.first, to: found.last }, marks: found.ids };
}

export async function markRollupsStale(client: ClickHouseClient, { from, to }: TimeRange): Promise<void> {
  const values = [{ id: randomUUID(), from_ms: from, to_ms: to }];
  await client.insert({ table: "rollup_renewals", values, format: "JSONEachRow" });
}

/** Removes marks, and those of addresses; marks of times that were made meanwhile stay. */
export async function unmarkStaleRollups(client: ClickHouseClient, marks: readonly string[]): Promise<void> {
  await client.command({ query: `DROP TABLE IF EXISTS ${STALE_ADDRESSES} SYNC` });
  const change = "DELETE WHERE id IN {marks:Array(UUID)}";
  await mutate(client, { table: "rollup_renewals", change, params: { marks: [...marks] } });
}

/** A table with the addresses that observations are gone of, written and dropped under the lock of a removal alone. */
export const STALE_ADDRESSES = "stale_addresses";
const ADDRESSES_PER_ROW = 50_000;

/** Marks addresses, which no feed keeps from then on. @param addresses IPv4 as numbers. */
export async function markAddressesStale(client: ClickHouseClient, addresses: Uint32Array): Promise<void> {
  await createAddresses(client);
  for (let start = 0; start < addresses.length; start += ADDRESSES_PER_ROW) {
    const values = [{ addresses: Array.from(addresses.subarray(start, start + ADDRESSES_PER_ROW)) }];
    await client.insert({ table: STALE_ADDRESSES, values, format: "JSONEachRow" });
    await client.insert({ table: "removed_addresses", values, format: "JSONEachRow" });
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
