import { randomBytes } from "node:crypto";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client.ts";
import {
  type ApiKey,
  hashKey,
  readApiKeys,
  readWorkspaces,
  type Workspace,
  writeApiKey,
  writeWorkspace,
} from "@noisefloor/clickhouse/tables/workspaces.ts";
import { UserError } from "./framework/command.ts";

/** The workspace that the first start in an empty data directory makes. */
export const DEFAULT_WORKSPACE: Workspace = {
  workspaceId: "default",
  name: "default",
  plan: "unlimited",
  entitlements: ["community_dataset"],
};

/** A key as it is shown once: afterwards only its hash is known. */
export type NewKey = { readonly keyId: string; readonly key: string };

/** A new key, not stored anywhere yet. The prefix tells whoever finds one what it opens. */
export function generateKey(prefix: "nf" | "nfs"): NewKey {
  return { keyId: randomBytes(6).toString("hex"), key: `${prefix}_${randomBytes(24).toString("base64url")}` };
}

/** Makes a key for a workspace. Throws a UserError when there is no such workspace. */
export async function createKey(
  client: ClickHouseClient,
  workspaceId: string,
  label: string,
  now: number,
): Promise<NewKey> {
  await findWorkspace(client, workspaceId);
  const made = generateKey("nf");
  await storeKey(client, workspaceId, made, label, now);
  return made;
}

async function storeKey(
  client: ClickHouseClient,
  workspaceId: string,
  { keyId, key }: NewKey,
  label: string,
  now: number,
): Promise<void> {
  const stored: ApiKey = { keyId, workspaceId, label, sha256: hashKey(key), createdAt: now, isRevoked: false };
  await writeApiKey(client, stored, now);
}

/** Revokes a key by its id. Throws a UserError when there is no such key; one revoked before stays so. */
export async function revokeKey(client: ClickHouseClient, keyId: string, now: number): Promise<void> {
  const key = (await readApiKeys(client)).find((candidate) => candidate.keyId === keyId);
  if (key === undefined) throw new UserError(`there is no key with the id "${keyId}": see "noisefloor keys list"`);
  await writeApiKey(client, { ...key, isRevoked: true }, now);
}

export async function findWorkspace(client: ClickHouseClient, workspaceId: string): Promise<Workspace> {
  const workspace = (await readWorkspaces(client)).find((candidate) => candidate.workspaceId === workspaceId);
  if (workspace !== undefined) return workspace;
  throw new UserError(`there is no workspace "${workspaceId}": see "noisefloor workspaces list"`);
}

/**
 * In a store without any workspace: makes the default one with a key.
 * @param keep called with the key before anything is stored: a key that could not be handed over must not be the first.
 */
export async function makeFirstWorkspace(
  client: ClickHouseClient,
  now: number,
  keep: (made: NewKey) => Promise<void>,
): Promise<void> {
  if ((await readWorkspaces(client)).length > 0) return;
  const made = generateKey("nf");
  await keep(made);
  // The workspace last: a start that is killed in between is followed by one that makes another key.
  await storeKey(client, DEFAULT_WORKSPACE.workspaceId, made, "made at the first start", now);
  await writeWorkspace(client, DEFAULT_WORKSPACE, now);
}
