import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { WATCH_LOG } from "../client/table-names.ts";

const MAX_BODIES = 20;
const SINCE = "fromUnixTimestamp64Milli({since:Int64}, 'UTC')";

const lately = defineQuery({
  name: "watch-events-lately",
  sql: `SELECT count() AS count,
      arrayMap(one -> one.3, groupArraySorted(${MAX_BODIES})((-toInt64(look), -toInt64(number), body))) AS latest,
      (SELECT count() FROM watch_deliveries FINAL WHERE state != 'delivered' AND updated_at >= ${SINCE}
        AND watch_id IN (SELECT watch_id FROM watches FINAL WHERE workspace_id = {workspace:String})) AS undelivered
    FROM ${WATCH_LOG} ARRAY JOIN workspace_ids AS workspace_id, bodies AS body, arrayEnumerate(event_ids) AS number
    WHERE workspace_id = {workspace:String} AND looked_at >= ${SINCE}`,
  params: z.object({ workspace: z.string(), since: z.int() }),
  row: z.object({ count: z.int(), latest: z.array(z.string()), undelivered: z.int() }),
});

/**
 * How many events a workspace has since a time (ms since 1970 UTC), the bodies of the last 20, the newest first, and how
 * many deliveries were tried since then, or given up, that did not arrive.
 */
export const readEventsLately = (client: ClickHouseClient, workspace: string, since: number) =>
  runForOne(client, lately, { workspace, since });
