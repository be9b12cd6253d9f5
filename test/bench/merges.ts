import { setTimeout as sleep } from "node:timers/promises";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import { twoAtOnce } from "./two-at-once.ts";

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

const partition = z.object({ table: z.string(), partition_id: z.string() });

const closedPartitions = defineQuery({
  name: "bench-closed-partitions",
  sql: `SELECT table, partition_id FROM (
      SELECT table, partition_id, count() AS parts, max(partition_id) OVER (PARTITION BY table) AS newest
      FROM system.parts
      WHERE database = currentDatabase() AND active AND table IN (
        SELECT name FROM system.tables
        WHERE database = currentDatabase() AND engine_full LIKE '%min_age_to_force_merge_seconds%')
      GROUP BY table, partition_id
    ) WHERE parts > 1 AND (partition_id != newest OR partition_id = 'all')`,
  params: z.object({}),
  row: partition,
});

/**
 * Merges each partition but the newest of a table into one part, and a table without partitions, as the server does when
 * their parts are a day old: a history is that old in all real stores.
 */
export async function mergeClosedPartitions(client: ClickHouseClient): Promise<void> {
  await merge(client, await run(client, closedPartitions, {}));
}

const openPartitions = defineQuery({
  name: "bench-open-partitions",
  sql: `SELECT table, max(partition_id) AS partition_id
    FROM system.parts
    WHERE database = currentDatabase() AND active
    GROUP BY table`,
  params: z.object({}),
  row: partition,
});

/** Merges the newest partition of each table into one part, which a server never does while rows still come. */
export async function mergeOpenPartitions(client: ClickHouseClient): Promise<void> {
  await merge(client, await run(client, openPartitions, {}));
}

async function merge(client: ClickHouseClient, partitions: readonly z.output<typeof partition>[]): Promise<void> {
  await twoAtOnce(partitions, async ({ table, partition_id }) => {
    await client.command({
      query: "OPTIMIZE TABLE {table:Identifier} PARTITION ID {partition_id:String} FINAL",
      query_params: { table, partition_id },
      clickhouse_settings: { max_execution_time: 0 },
    });
  });
}
