import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import { defineQuery, runForOne } from "../client/query.ts";
import { literal } from "../client/sql-text.ts";
import { SIMULATION } from "../tables/sensor-activity.ts";

const growth = defineQuery({
  name: "store-growth",
  sql: `SELECT bytes, rows, accepted, seconds FROM (
      SELECT sum(total_bytes) AS bytes, sumIf(total_rows, name = 'observations') AS rows
      FROM system.tables WHERE database = currentDatabase()
    ) AS sizes CROSS JOIN (
      SELECT sum(records) AS accepted, if(count() = 0, 0, dateDiff('second', min(hour), now())) AS seconds FROM (
        SELECT hour, max(records) AS records FROM sensor_activity
        WHERE outcome = 'accepted' AND source != ${literal(SIMULATION)} AND hour >= now() - INTERVAL 7 DAY
        GROUP BY hour, source, key_id, workspace_id, sensor_id, is_rest, format, process)
    ) AS activity`,
  shards: {
    merge: (shards) => `SELECT sum(shard.bytes) AS bytes, sum(shard.rows) AS rows, sum(shard.accepted) AS accepted,
      max(shard.seconds) AS seconds FROM ${shards} AS shard`,
  },
  params: z.object({}),
  row: z.object({
    bytes: z.int().nullable(),
    rows: z.int().nullable(),
    accepted: z.int(),
    seconds: z.int(),
  }),
});

export type StoreGrowth = {
  readonly bytes: number;
  readonly observations: number;
  /** Bytes that a day adds, by the records accepted in the last 7 days; undefined when there were none. */
  readonly bytesPerDay: number | undefined;
};

/** How large the store is, and by how much it grows a day. */
export async function readGrowth(client: ClickHouseClient): Promise<StoreGrowth> {
  const { bytes, rows, accepted, seconds } = await runForOne(client, growth, {});
  const [size, observations] = [bytes ?? 0, rows ?? 0];
  const days = Math.max(seconds, 3_600) / 86_400;
  const isKnown = accepted > 0 && observations > 0;
  const bytesPerDay = isKnown ? Math.round(((size / observations) * accepted) / days) : undefined;
  return { bytes: size, observations, bytesPerDay };
}
