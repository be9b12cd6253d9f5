import { randomBytes } from "node:crypto";
import {
  type ApiKey,
  hashKey,
  readWorkspaces,
  type Workspace,
  writeApiKey,
} from "@noisefloor/clickhouse/access/workspaces.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { UserError } from "../framework/command.ts";

/** A key as it is shown once: the store keeps only its hash. */
export type NewKey = { readonly keyId: string; readonly key: string };

/** Generates a key without storing it. The prefix says what it opens: `nf` the API, `nfs` the intake. */
export function generateKey(prefix: "nf" | "nfs"): NewKey {
  return { keyId: randomBytes(6).toString("hex"), key: `${prefix}_${randomBytes(24).toString("base64url")}` };
}

/** Stores the hash of a generated key. */
export async function writeNewKey(
  client: ClickHouseClient,
  { keyId, key }: NewKey,
  { workspaceId, label }: Pick<ApiKey, "workspaceId" | "label">,
  now: number,
): Promise<void> {
  await writeApiKey(client, { keyId, workspaceId, label, sha256: hashKey(key), createdAt: now, isRevoked: false }, now);
}

/** @throws UserError when there is no such workspace. */
export async function findWorkspace(client: ClickHouseClient, workspaceId: string): Promise<Workspace> {
  const workspace = (await readWorkspaces(client)).find((candidate) => candidate.workspaceId === workspaceId);
  if (workspace !== undefined) return workspace;
  throw new UserError(`there is no workspace "${workspaceId}": see "noisefloor workspaces list"`);
}
