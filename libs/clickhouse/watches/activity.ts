import type { Watch } from "@noisefloor/domain/watches/watch.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { WATCH_LOG } from "../client/table-names.ts";

const lastEvents = defineQuery({
  name: "watch-last-events",
  sql: `SELECT toString(watch_id) AS watchId, toUnixTimestamp64Milli(max(looked_at)) AS at
    FROM ${WATCH_LOG} ARRAY JOIN watch_ids AS watch_id, workspace_ids AS workspace_id
    WHERE workspace_id = {workspace:String} GROUP BY watch_id`,
  params: z.object({ workspace: z.string() }),
  row: z.object({ watchId: z.string(), at: z.int() }),
});

const undelivered = defineQuery({
  name: "watch-undelivered",
  sql: `SELECT toString(watch_id) AS watchId, destination_id AS destinationId, count() AS count
    FROM watch_deliveries FINAL
    WHERE state != 'delivered'
      AND watch_id IN (SELECT watch_id FROM watches FINAL WHERE workspace_id = {workspace:String})
    GROUP BY watch_id, destination_id`,
  params: z.object({ workspace: z.string() }),
  row: z.object({ watchId: z.string(), destinationId: z.string(), count: z.int() }),
});

/** What a watch has done of late. */
export type WatchActivity = {
  /** In milliseconds since 1970 UTC; 0 for none of those that are kept. */
  readonly lastEventAt: number;
  /** Deliveries to its destinations that were tried, or given up, and did not arrive. */
  readonly undelivered: number;
};

/** The activity of the watches of a workspace. */
export async function readActivity(
  client: ClickHouseClient,
  workspace: string,
): Promise<(watch: Watch) => WatchActivity> {
  const [events, deliveries] = await Promise.all([
    run(client, lastEvents, { workspace }),
    run(client, undelivered, { workspace }),
  ]);
  const times = new Map(events.map(({ watchId, at }) => [watchId, at]));
  const counts = new Map(deliveries.map(({ watchId, destinationId, count }) => [`${watchId} ${destinationId}`, count]));
  return ({ id, deliver }) => ({
    lastEventAt: times.get(id) ?? 0,
    undelivered: deliver.reduce((sum, destination) => sum + (counts.get(`${id} ${destination.id}`) ?? 0), 0),
  });
}
