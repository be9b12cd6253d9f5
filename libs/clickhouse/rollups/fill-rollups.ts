import type { ClickHouseClient } from "../client/connect.ts";
import { waitForInserts } from "../client/running-inserts.ts";
import { applyDurability, readDurability } from "../schema/durability.ts";
import { sliceObservations } from "./slices.ts";
import { fillRollup, readRollupView } from "./views.ts";

export type FillOptions = {
  readonly signal?: AbortSignal;
  /** Called after each slice, with numbers of observations. */
  readonly onProgress?: (done: number, total: number) => void;
};

/**
 * Fills rollups with the observations by the SELECT of their views, a slice at a time. A row that a rollup has already
 * counts once.
 * @returns whether it was done; false when it was aborted.
 */
export async function fillRollups(
  client: ClickHouseClient,
  rollups: readonly string[],
  { signal, onProgress = () => {} }: FillOptions = {},
): Promise<boolean> {
  const slices = await sliceObservations(client);
  const total = slices.reduce((sum, { rows }) => sum + rows, 0) * rollups.length;
  let done = 0;
  for (const table of rollups) {
    const view = await readRollupView(client, table);
    for (const { where, rows } of slices) {
      if (signal?.aborted) return false;
      await fillRollup(client, { table, view, where });
      done += rows;
      onProgress(done, total);
    }
  }
  return true;
}

/**
 * Fills rollups with the observations that were stored before their views were there, beside a running intake.
 * @param owner all of whose servers have the views.
 */
export async function fillEarlier(
  owner: ClickHouseClient,
  rollups: readonly string[],
  onProgress: FillOptions["onProgress"] = () => {},
): Promise<void> {
  const servers = (await owner.servers()).flat();
  await waitForInserts(servers);
  await owner.sync(["observations"]);
  // A new rollup survives a power cut if the observations do: once its migration is on record, nothing fills it again.
  for (const server of servers) if (await readDurability(server)) await applyDurability(server, true);
  await fillRollups(owner, rollups, { onProgress });
  await owner.sync(rollups);
}
