import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { literal } from "../client/sql-text.ts";
import { OBSERVATIONS, OWN_DATABASE, SENSOR_ACTIVITY } from "../client/table-names.ts";
import { SIMULATION } from "../schema/sensor-count-rows.ts";

const size = defineQuery({
  name: "store-size",
  sql: `SELECT sum(total_bytes) AS bytes, sumIf(total_rows, name = 'observations') AS observations
    FROM system.tables WHERE database = ${OWN_DATABASE}`,
  combine: (results) =>
    `SELECT sum(result.bytes) AS bytes, sum(result.observations) AS observations FROM ${results} AS result`,
  params: z.object({}),
  row: z.object({ bytes: z.int().nullable(), observations: z.int().nullable() }),
});

export type StoreSize = { readonly bytes: number; readonly observations: number };

/** How large the store is. */
export async function readSize(client: ClickHouseClient): Promise<StoreSize> {
  const { bytes, observations } = await runForOne(client, size, {});
  return { bytes: bytes ?? 0, observations: observations ?? 0 };
}

/** What comes later after it was seen comes from a file: sensors deliver within hours, also after an outage. */
const LIVE_HOURS = 6;

/** A record counts as often as it comes and on each of its ways, so what is stored is counted. */
const arrivals = defineQuery({
  name: "store-arrivals",
  sql: `SELECT stored, seconds FROM (
      SELECT count() AS stored FROM ${OBSERVATIONS}
      WHERE observed_at >= now() - INTERVAL 7 DAY AND received_at < observed_at + INTERVAL ${LIVE_HOURS} HOUR
        AND NOT startsWith(sensor_id, {simulated:String})
    ) AS observed CROSS JOIN (
      SELECT if(count() = 0, 0, dateDiff('second', min(hour), now())) AS seconds FROM ${SENSOR_ACTIVITY}
      WHERE outcome = 'accepted' AND source NOT IN ('file', ${literal(SIMULATION)}) AND hour >= now() - INTERVAL 7 DAY
    ) AS activity`,
  combine: (results) => `SELECT sum(result.stored) AS stored, max(result.seconds) AS seconds FROM ${results} AS result`,
  params: z.object({ simulated: z.string() }),
  row: z.object({ stored: z.int(), seconds: z.int() }),
});

const DAY_SECONDS = 86_400;

/**
 * How many observations a day brings, by those that sensors sent in the last 7 days; undefined before a whole day has
 * passed since the first of them. What was replayed or simulated does not come again tomorrow, and does not count.
 * @param simulated with what the names of simulated sensors begin.
 */
export async function readDailyObservations(client: ClickHouseClient, simulated: string): Promise<number | undefined> {
  const { stored, seconds } = await runForOne(client, arrivals, { simulated });
  return seconds < DAY_SECONDS ? undefined : (stored * DAY_SECONDS) / seconds;
}
