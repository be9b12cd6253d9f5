import type { BackupOptions } from "../backup/operation.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { sliceObservations } from "../rollups/slices.ts";
import { fillRollup, readRollupView } from "../rollups/views.ts";
import { DERIVED_TABLES } from "../schema/tables.ts";

/**
 * Fills the rollups from the observations by the SELECT of their views, a slice at a time.
 * @param client of a database whose rollups are empty.
 * @returns whether it was done; false when it was cancelled.
 */
export async function rebuildRollups(
  client: ClickHouseClient,
  { signal, onProgress = () => {} }: BackupOptions,
): Promise<boolean> {
  const slices = await sliceObservations(client);
  const total = slices.reduce((sum, { rows }) => sum + rows, 0) * DERIVED_TABLES.length;
  let done = 0;
  for (const table of DERIVED_TABLES) {
    const view = await readRollupView(client, table);
    for (const { where, rows } of slices) {
      if (signal.aborted) return false;
      await fillRollup(client, { table, view, where });
      done += rows;
      onProgress(done, total);
    }
  }
  return true;
}
