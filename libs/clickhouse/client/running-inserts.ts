import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { ClickHouseClient } from "./connect.ts";
import { defineQuery, run } from "./query.ts";

const inserts = defineQuery({
  name: "running-inserts",
  sql: `SELECT query_id AS id FROM system.processes
    WHERE query_kind = 'Insert' AND current_database = currentDatabase()`,
  params: z.object({}),
  row: z.object({ id: z.string() }),
});
const POLL_MS = 20;

/**
 * Resolves when the inserts that run now on some servers have ended: those that began before a change of the views do
 * not know of it.
 */
export async function waitForInserts(servers: readonly ClickHouseClient[]): Promise<void> {
  for (const server of servers) {
    const before = new Set((await run(server, inserts, {})).map(({ id }) => id));
    while (before.size > 0) {
      await sleep(POLL_MS);
      const running = new Set((await run(server, inserts, {})).map(({ id }) => id));
      for (const id of before) if (!running.has(id)) before.delete(id);
    }
  }
}
