import { makeCredential, writeCredential } from "@noisefloor/clickhouse/access/credentials.ts";
import { type Workspace, workspaces } from "@noisefloor/clickhouse/access/workspaces.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";

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
  deliver: (key: { readonly id: string; readonly secret: string }) => Promise<void>,
): Promise<void> {
  if ((await workspaces.read(client)).length > 0) return;
  const { workspaceId } = DEFAULT_WORKSPACE;
  const { secret, credential } = makeCredential("workspace", { workspaceId, label: "made at the first start" }, now);
  await deliver({ id: credential.id, secret });
  // The workspace comes last: if the process is killed in between, the next start creates another key.
  await writeCredential(client, credential, now);
  await workspaces.write(client, [DEFAULT_WORKSPACE], now);
}
