import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { defineRecords } from "../records/define-records.ts";

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

const guardNetworks = defineRecords({
  name: "guard-networks",
  table: "guard_networks",
  row: guardSchema,
  id: "id",
  columns: { id: "guard_id" },
  orderBy: "created_at, toString(guard_id)",
});

/** Those of all workspaces. Deleted ones still say when the list changed. */
export const readGuardNetworks = (client: ClickHouseClient): Promise<GuardNetwork[]> =>
  run(client, guardNetworks.all, {});

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
  await guardNetworks.write(client, [guard], Math.max(now, latest.updatedAt + 1));
}
