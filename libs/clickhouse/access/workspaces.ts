import { hash } from "node:crypto";
import { ENTITLEMENTS } from "@noisefloor/domain/access/caller.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, runForOne, toDateTime64 } from "../client/query.ts";
import { replaceRows } from "../mutations/replace-rows.ts";

const workspaceSchema = z.object({
  workspaceId: z.string(),
  name: z.string(),
  plan: z.string(),
  entitlements: z.array(z.enum(ENTITLEMENTS)),
});
export type Workspace = z.infer<typeof workspaceSchema>;

const apiKeySchema = z.object({
  keyId: z.string(),
  workspaceId: z.string(),
  label: z.string(),
  sha256: z.string(),
  /** Milliseconds since 1970 UTC. */
  createdAt: z.int(),
  isRevoked: z.boolean(),
});
export type ApiKey = z.infer<typeof apiKeySchema>;

const allWorkspaces = defineQuery({
  name: "all-workspaces",
  sql: "SELECT workspace_id AS workspaceId, name, plan, entitlements FROM workspaces FINAL ORDER BY workspace_id",
  params: z.object({}),
  row: workspaceSchema,
});

const allApiKeys = defineQuery({
  name: "all-api-keys",
  sql: `SELECT key_id AS keyId, workspace_id AS workspaceId, label, key_sha256 AS sha256,
      toUnixTimestamp64Milli(created_at) AS createdAt, is_revoked AS isRevoked
    FROM api_keys FINAL ORDER BY created_at, key_id`,
  params: z.object({}),
  row: apiKeySchema,
});

/** Made of the whole content, which is small: neither a merge nor another machine's clock can hide a revocation. */
const accessVersion = defineQuery({
  name: "access-version",
  sql: `SELECT concat(
      (SELECT concat(toString(count()), '/', toString(sum(cityHash64(*)))) FROM workspaces FINAL), ' ',
      (SELECT concat(toString(count()), '/', toString(sum(cityHash64(*)))) FROM api_keys FINAL)) AS version`,
  params: z.object({}),
  row: z.object({ version: z.string() }),
});

export const readWorkspaces = (client: ClickHouseClient): Promise<Workspace[]> => run(client, allWorkspaces, {});
export const readApiKeys = (client: ClickHouseClient): Promise<ApiKey[]> => run(client, allApiKeys, {});

/** Changes whenever a workspace or a key does. */
export async function readAccessVersion(client: ClickHouseClient): Promise<string> {
  return (await runForOne(client, accessVersion, {})).version;
}

/** Adds a workspace or replaces the one with its id. */
export async function writeWorkspace(client: ClickHouseClient, workspace: Workspace, now: number): Promise<void> {
  const { workspaceId: workspace_id, name, plan, entitlements } = workspace;
  const rows = [{ workspace_id, name, plan, entitlements }];
  await replaceRows(client, { table: "workspaces", idColumn: "workspace_id", rows }, now);
}

/** Adds a key or replaces the one with its id. */
export async function writeApiKey(client: ClickHouseClient, key: ApiKey, now: number): Promise<void> {
  const row = {
    key_id: key.keyId,
    workspace_id: key.workspaceId,
    label: key.label,
    key_sha256: key.sha256,
    created_at: toDateTime64(key.createdAt),
    is_revoked: key.isRevoked,
  };
  await replaceRows(client, { table: "api_keys", idColumn: "key_id", rows: [row] }, now);
}

/** The store holds keys by this hash alone. */
export function hashKey(key: string): string {
  return hash("sha256", key);
}
