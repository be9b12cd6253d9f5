import { floorToHour, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { ClickHouseClient } from "../client/connect.ts";
import { literal } from "../client/sql-text.ts";
import { OBSERVATIONS, SENSOR_ACTIVITY } from "../client/table-names.ts";
import { SIMULATION } from "../schema/sensor-count-rows.ts";

/** All simulations count as one process: a row that is written again replaces the smaller count. */
const PROCESS = "00000000-0000-0000-0000-000000000000";

/**
 * Counts stored observations as what their sensors sent in the hours in which they were seen. It can be repeated: whole
 * hours are counted, from what is stored.
 * @param prefix with which the sensors' names begin.
 * @param from the first of the times, like `to` in milliseconds since 1970 UTC.
 * @param to the last of them.
 */
export async function countSimulated(
  client: ClickHouseClient,
  prefix: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const time = (at: number) => `toDateTime(${at / 1_000}, 'UTC')`;
  await client.insertSelect({
    query: `INSERT INTO ${SENSOR_ACTIVITY}
        (hour, source, key_id, workspace_id, sensor_id, is_rest, format, outcome, process, records, last_at)
      SELECT toStartOfHour(observed_at) AS hour, ${literal(SIMULATION)}, '', workspace_id, sensor_id, false, 'observations',
        'accepted', toUUID('${PROCESS}'), count(), max(observed_at)
      FROM ${OBSERVATIONS} FINAL
      WHERE startsWith(sensor_id, ${literal(prefix)})
        AND observed_at >= ${time(floorToHour(from))} AND observed_at < ${time(floorToHour(to) + HOUR_MS)}
      GROUP BY hour, workspace_id, sensor_id`,
  });
}
