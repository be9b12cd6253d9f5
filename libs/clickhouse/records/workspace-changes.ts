import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";

/** When each workspace changed its records of a table last, deletions too: lists made with others are older than that. */
export function defineWorkspaceChanges(table: string) {
  const changes = defineQuery({
    name: `${table}-changes`,
    sql: `SELECT workspace_id AS workspaceId, toUnixTimestamp64Milli(max(updated_at)) AS changedAt FROM ${table}
      GROUP BY workspace_id`,
    params: z.object({}),
    row: z.object({ workspaceId: z.string(), changedAt: z.int() }),
  });
  const read = (client: ClickHouseClient) => run(client, changes, {});
  return {
    /** In milliseconds since 1970 UTC. */
    read,
    /** The time of a workspace's next change: newer than its last one, whatever the clock says. */
    async nextTime(client: ClickHouseClient, workspaceId: string, now: number): Promise<number> {
      const last = (await read(client)).find((change) => change.workspaceId === workspaceId);
      return Math.max(now, (last?.changedAt ?? 0) + 1);
    },
    /** SQL: whether a deleted record's row is its workspace's newest change, which says how old lists are. */
    isNewest: `(workspace_id, updated_at) IN (SELECT workspace_id, max(updated_at) FROM ${table} GROUP BY workspace_id)`,
  };
}
