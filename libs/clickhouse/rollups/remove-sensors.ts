import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { literal } from "../client/sql-text.ts";
import { changeRows } from "../tables/change-rows.ts";
import { type ReplaceOptions, replaceRollups } from "./replace.ts";
import { markRollupsStale, readStaleRollups, unmarkStaleRollups } from "./stale-marker.ts";

const sensorRows = defineQuery({
  name: "sensor-rows",
  sql: `SELECT count() AS observations, toUnixTimestamp64Milli(min(observed_at)) AS first,
      toUnixTimestamp64Milli(max(observed_at)) AS last
    FROM observations FINAL WHERE startsWith(sensor_id, {prefix:String})`,
  params: z.object({ prefix: z.string() }),
  row: z.object({ observations: z.int(), first: z.int(), last: z.int() }),
});

/**
 * Deletes all observations of sensors whose ids begin with a text, what rollups know of them, and the sensors' counts.
 * Until the rollups are exchanged, answers are as they were before. Interrupted, the same call does what is left.
 * @returns how many observations were deleted; `isComplete` is false when it was aborted.
 */
export async function removeSensors(
  client: ClickHouseClient,
  prefix: string,
  { signal, onProgress }: Pick<ReplaceOptions, "signal" | "onProgress"> = {},
): Promise<{ readonly observations: number; readonly isComplete: boolean }> {
  const { observations, first, last } = await runForOne(client, sensorRows, { prefix });
  if (observations > 0) await markRollupsStale(client, { from: first, to: last + 1 });
  for (const table of ["observations", "sensor_activity"]) {
    await changeRows(client, {
      table,
      change: `DELETE WHERE startsWith(sensor_id, ${literal(prefix)})`,
      settings: { log_comment: "remove-sensors" },
    });
  }
  const stale = await readStaleRollups(client);
  const isComplete =
    stale === undefined || (await replaceRollups(client, { stale, signal, ...(onProgress && { onProgress }) }));
  if (isComplete) await unmarkStaleRollups(client);
  return { observations, isComplete };
}
