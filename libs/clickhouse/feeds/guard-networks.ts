import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, runForOne, toDateTime64 } from "../client/query.ts";
import { replaceRows } from "../mutations/replace-rows.ts";

/** The workspace of what no feed of any workspace lists. */
export const NO_WORKSPACE = "";

const guardSchema = z.object({
  id: z.string(),
  workspaceId: z.string(),
  /** `198.51.100.0/24`. */
  network: z.string(),
  note: z.string(),
  /** Milliseconds since 1970 UTC, as the next one. */
  createdAt: z.int(),
  updatedAt: z.int(),
  isDeleted: z.boolean(),
});
/** A network that the feeds of a workspace never list. */
export type GuardNetwork = z.infer<typeof guardSchema>;

const allGuards = defineQuery({
  name: "guard-networks",
  sql: `SELECT toString(guard_id) AS id, workspace_id AS workspaceId, network, note,
      toUnixTimestamp64Milli(created_at) AS createdAt, toUnixTimestamp64Milli(updated_at) AS updatedAt,
      is_deleted AS isDeleted
    FROM guard_networks FINAL ORDER BY created_at, id`,
  params: z.object({}),
  row: guardSchema,
});

/** Those of all workspaces. Deleted ones still say when the list changed. */
export const readGuardNetworks = (client: ClickHouseClient): Promise<GuardNetwork[]> => run(client, allGuards, {});

const latestChange = defineQuery({
  name: "latest-guard-change",
  sql: `SELECT toUnixTimestamp64Milli(max(updated_at)) AS updatedAt FROM guard_networks
    WHERE workspace_id = {workspaceId:String}`,
  params: z.object({ workspaceId: z.string() }),
  row: z.object({ updatedAt: z.int() }),
});

/**
 * Adds a network or replaces the one with its id. The change is the newest of its workspace, whatever the clock says.
 */
export async function writeGuardNetwork(
  client: ClickHouseClient,
  guard: Omit<GuardNetwork, "updatedAt">,
  now: number,
): Promise<void> {
  const latest = await runForOne(client, latestChange, { workspaceId: guard.workspaceId });
  const row = {
    guard_id: guard.id,
    workspace_id: guard.workspaceId,
    network: guard.network,
    note: guard.note,
    is_deleted: guard.isDeleted,
    created_at: toDateTime64(guard.createdAt),
  };
  const at = Math.max(now, latest.updatedAt + 1);
  await replaceRows(client, { table: "guard_networks", idColumn: "guard_id", rows: [row] }, at);
}
