import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { defineRecords } from "../records/define-records.ts";

/** The workspace of what no feed of any workspace lists. */
export const NO_WORKSPACE = "";

const guardSchema = z.object({
  id: z.string(),
  workspaceId: z.string(),
  /** `198.51.100.0/24`. */
  network: z.string(),
  note: z.string(),
  /** Milliseconds since 1970 UTC. */
  createdAt: z.int(),
});
/** A network that the feeds of a workspace never list. */
export type GuardNetwork = z.infer<typeof guardSchema>;

/** The guarded networks of all workspaces. */
export const guardNetworks = defineRecords({
  table: "guard_networks",
  row: guardSchema,
  id: "id",
  columns: { id: "guard_id" },
  orderBy: "created_at, toString(guard_id)",
  forget: {
    afterDays: 90,
    // The newest change of a workspace says which lists are older than its guard.
    unless:
      "(workspace_id, updated_at) IN (SELECT workspace_id, max(updated_at) FROM guard_networks GROUP BY workspace_id)",
  },
});

const guardChanges = defineQuery({
  name: "guard-changes",
  sql: `SELECT workspace_id AS workspaceId, toUnixTimestamp64Milli(max(updated_at)) AS changedAt FROM guard_networks
    GROUP BY workspace_id`,
  params: z.object({}),
  row: z.object({ workspaceId: z.string(), changedAt: z.int() }),
});

/** When each workspace changed what it guards last, deletions too, in milliseconds since 1970 UTC. */
export const readGuardChanges = (client: ClickHouseClient) => run(client, guardChanges, {});

/** The time of a change of a workspace's guard: newer than the last one, whatever the clock says. */
async function changeTime(client: ClickHouseClient, { workspaceId }: GuardNetwork, now: number): Promise<number> {
  const last = (await readGuardChanges(client)).find((change) => change.workspaceId === workspaceId);
  return Math.max(now, (last?.changedAt ?? 0) + 1);
}

/** Adds a network or replaces the one with its id. */
export const writeGuardNetwork = async (client: ClickHouseClient, guard: GuardNetwork, now: number): Promise<void> =>
  guardNetworks.write(client, [guard], await changeTime(client, guard, now));

export const deleteGuardNetwork = async (client: ClickHouseClient, guard: GuardNetwork, now: number): Promise<void> =>
  guardNetworks.delete(client, [guard], await changeTime(client, guard, now));
