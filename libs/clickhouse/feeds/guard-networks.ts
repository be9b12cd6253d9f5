import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineRecords } from "../records/define-records.ts";
import { defineWorkspaceChanges } from "../records/workspace-changes.ts";

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

const changes = defineWorkspaceChanges("guard_networks");

/** When each workspace changed what it guards last. */
export const readGuardChanges = changes.read;

/** The guarded networks of all workspaces. */
export const guardNetworks = defineRecords({
  table: "guard_networks",
  row: guardSchema,
  id: "id",
  columns: { id: "guard_id" },
  orderBy: "created_at, toString(guard_id)",
  forget: { afterDays: 90, unless: changes.isNewest },
});

/** Adds a network or replaces the one with its id. */
export const writeGuardNetwork = async (client: ClickHouseClient, guard: GuardNetwork, now: number): Promise<void> =>
  guardNetworks.write(client, [guard], await changes.nextTime(client, guard.workspaceId, now));

export const deleteGuardNetwork = async (client: ClickHouseClient, guard: GuardNetwork, now: number): Promise<void> =>
  guardNetworks.delete(client, [guard], await changes.nextTime(client, guard.workspaceId, now));
