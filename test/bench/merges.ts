import { setTimeout as sleep } from "node:timers/promises";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";

const LONGEST_MS = 60_000;

const merges = defineQuery({
  name: "bench-merges",
  sql: "SELECT count() AS running FROM system.merges WHERE database = currentDatabase()",
  params: z.object({}),
  row: z.object({ running: z.int() }),
});

/**
 * Resolves when the server merges nothing of this database any more, or after a minute: what merging takes is not what
 * callers do.
 */
export async function untilMerged(client: ClickHouseClient): Promise<void> {
  const end = performance.now() + LONGEST_MS;
  // One merge may make the next one possible.
  for (let still = 0; still < 3 && performance.now() < end; await sleep(100)) {
    const { running } = await runForOne(client, merges, {});
    still = running === 0 ? still + 1 : 0;
  }
}
