import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import type { TimeRange } from "./replace.ts";

/**
 * A table that exists while observations are gone, or have lost tags, that the rollups may still count. It outlives a
 * process that is killed, so that the next one replaces the rollups.
 */
export const STALE_ROLLUPS = "stale_rollups";

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

export async function unmarkStaleRollups(client: ClickHouseClient): Promise<void> {
  await client.command({ query: `DROP TABLE IF EXISTS ${STALE_ROLLUPS} SYNC` });
}
