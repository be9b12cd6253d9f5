import type { ClickHouseClient } from "@clickhouse/client";
import { literal } from "../client/sql-text.ts";
import { fillRollup, readRollupView } from "../rollups/views.ts";
import { DERIVED_TABLES } from "../schema/tables.ts";
import { readStoredWeeks } from "../tables/rewrite-observations.ts";
import type { BackupOptions } from "./operation.ts";

/**
 * Fills the rollups from the observations by the SELECT of their views, one partition at a time so that the server
 * needs memory for a week and not for all.
 * @param client of the database `database`, whose rollups are empty.
 * @returns whether it was done; false when it was cancelled.
 */
export async function rebuildRollups(
  client: ClickHouseClient,
  database: string,
  { signal, onProgress = () => {} }: BackupOptions,
): Promise<boolean> {
  const weeks = await readStoredWeeks(client);
  const total = weeks.reduce((sum, { rows }) => sum + rows, 0) * DERIVED_TABLES.length;
  let done = 0;
  for (const table of DERIVED_TABLES) {
    const view = await readRollupView(client, table);
    for (const { id, rows } of weeks) {
      if (signal.aborted) return false;
      const where = `_partition_id = ${literal(id)}`;
      await fillRollup(client, { table, view, source: `${database}.observations`, where });
      done += rows;
      onProgress(done, total);
    }
  }
  return true;
}
