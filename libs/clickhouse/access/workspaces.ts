import { hash } from "node:crypto";
import { ENTITLEMENTS } from "@noisefloor/domain/access/caller.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { run } from "../client/query.ts";
import { defineRecords, defineVersion } from "../records/define-records.ts";

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

const workspaces = defineRecords({
  name: "all-workspaces",
  table: "workspaces",
  row: workspaceSchema,
  id: "workspaceId",
  orderBy: "workspace_id",
});

const apiKeys = defineRecords({
  name: "all-api-keys",
  table: "api_keys",
  row: apiKeySchema,
  id: "keyId",
  columns: { sha256: "key_sha256" },
  orderBy: "created_at, key_id",
});

export const readWorkspaces = (client: ClickHouseClient): Promise<Workspace[]> => run(client, workspaces.all, {});
export const readApiKeys = (client: ClickHouseClient): Promise<ApiKey[]> => run(client, apiKeys.all, {});

/** Changes whenever a workspace or a key does. */
export const readAccessVersion = defineVersion("access-version", "workspaces", "api_keys");

/** Adds a workspace or replaces the one with its id. */
export const writeWorkspace = (client: ClickHouseClient, workspace: Workspace, now: number): Promise<void> =>
  workspaces.write(client, [workspace], now);

/** Adds a key or replaces the one with its id. */
export const writeApiKey = (client: ClickHouseClient, key: ApiKey, now: number): Promise<void> =>
  apiKeys.write(client, [key], now);

/** The store holds keys by this hash alone. */
export function hashKey(key: string): string {
  return hash("sha256", key);
}
