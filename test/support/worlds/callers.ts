import { randomUUID } from "node:crypto";
import { hashKey, writeApiKey, writeWorkspace } from "@noisefloor/clickhouse/access/workspaces.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import type { Entitlement } from "@noisefloor/domain/access/caller.ts";

/** Creates a workspace. @returns its key. */
export async function addCaller(
  client: ClickHouseClient,
  workspaceId: string,
  plan: string,
  entitlements: readonly Entitlement[] = [],
): Promise<string> {
  const key = randomUUID();
  const now = Date.now();
  const stored = {
    keyId: randomUUID(),
    workspaceId,
    label: "",
    sha256: hashKey(key),
    createdAt: now,
    isRevoked: false,
  };
  await Promise.all([
    writeWorkspace(client, { workspaceId, name: workspaceId, plan, entitlements: [...entitlements] }, now),
    writeApiKey(client, stored, now),
  ]);
  return key;
}
