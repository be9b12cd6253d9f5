import { readWorkspaces, type Workspace, writeWorkspace } from "@noisefloor/clickhouse/access/workspaces.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { generateKey, type NewKey, writeNewKey } from "./api-keys.ts";

/** The workspace that the first start in an empty data directory creates. */
const DEFAULT_WORKSPACE: Workspace = {
  workspaceId: "default",
  name: "default",
  plan: "unlimited",
  entitlements: ["community_dataset", "sensors"],
};

/**
 * Creates the default workspace and its key in a store that has no workspace.
 * @param deliver called with the key before anything is stored: the first key must not be one that the user never gets.
 */
export async function createFirstWorkspace(
  client: ClickHouseClient,
  now: number,
  deliver: (key: NewKey) => Promise<void>,
): Promise<void> {
  if ((await readWorkspaces(client)).length > 0) return;
  const key = generateKey("nf");
  await deliver(key);
  // The workspace comes last: if the process is killed in between, the next start creates another key.
  await writeNewKey(client, key, { workspaceId: DEFAULT_WORKSPACE.workspaceId, label: "made at the first start" }, now);
  await writeWorkspace(client, DEFAULT_WORKSPACE, now);
}
