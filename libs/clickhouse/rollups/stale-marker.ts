import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { defineQuery, run } from "../client/query.ts";
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

/** Removes marks; those that were made meanwhile stay. */
export async function unmarkStaleRollups(client: ClickHouseClient, marks: readonly string[]): Promise<void> {
  const change = "DELETE WHERE id IN {marks:Array(UUID)}";
  await mutate(client, { table: "rollup_renewals", change, params: { marks: [...marks] } });
}

const ADDRESSES_PER_ROW = 50_000;

/** Marks addresses of which observations are gone: no feed keeps them from then on. @param addresses IPv4 as numbers. */
export async function markAddressesRemoved(client: ClickHouseClient, addresses: Uint32Array): Promise<void> {
  for (let start = 0; start < addresses.length; start += ADDRESSES_PER_ROW) {
    const values = [{ addresses: Array.from(addresses.subarray(start, start + ADDRESSES_PER_ROW)) }];
    await client.insert({ table: "removed_addresses", values, format: "JSONEachRow" });
  }
}
