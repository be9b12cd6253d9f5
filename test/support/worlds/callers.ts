import { makeCredential, writeCredential } from "@noisefloor/clickhouse/access/credentials.ts";
import { workspaces } from "@noisefloor/clickhouse/access/workspaces.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import type { Entitlement } from "@noisefloor/domain/access/caller.ts";

/** Creates a workspace. @returns its key. */
export async function addCaller(
  client: ClickHouseClient,
  workspaceId: string,
  plan: string,
  entitlements: readonly Entitlement[] = [],
): Promise<string> {
  const now = Date.now();
  const { secret, credential } = makeCredential("workspace", { workspaceId }, now);
  await Promise.all([
    workspaces.write(client, [{ workspaceId, name: workspaceId, plan, entitlements: [...entitlements] }], now),
    writeCredential(client, credential, now),
  ]);
  return secret;
}
