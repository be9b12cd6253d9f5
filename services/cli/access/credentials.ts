import {
  type Credential,
  readCredentials,
  revokeCredential,
  type SecretKind,
} from "@noisefloor/clickhouse/access/credentials.ts";
import { type Workspace, workspaces } from "@noisefloor/clickhouse/access/workspaces.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { OutputOptions } from "../framework/output.ts";
import { withStore } from "../store/store.ts";

/** @throws UserError when there is no such workspace. */
export async function findWorkspace(client: ClickHouseClient, workspaceId: string): Promise<Workspace> {
  const workspace = (await workspaces.read(client)).find((candidate) => candidate.workspaceId === workspaceId);
  if (workspace !== undefined) return workspace;
  throw new UserError(`there is no workspace "${workspaceId}": see "noisefloor workspaces list"`);
}

export const stateOf = ({ isRevoked }: Credential) => (isRevoked ? "revoked" : "valid");

/**
 * `noisefloor keys revoke` and `noisefloor sensors revoke`: revoking a revoked key changes nothing.
 * @param name what people call a key of the kind.
 * @param list the command that lists them.
 */
export function runRevoke(
  kind: SecretKind,
  keyId: string,
  { json }: OutputOptions,
  context: CommandContext,
  { name, list }: { readonly name: string; readonly list: string },
): Promise<void> {
  return withStore(context, async (client) => {
    const key = (await readCredentials(client, kind)).find(({ id }) => id === keyId);
    if (key === undefined) throw new UserError(`there is no ${name} with the id "${keyId}": see "noisefloor ${list}"`);
    await revokeCredential(client, key, Date.now());
    if (json) context.print(JSON.stringify({ id: keyId, state: "revoked" }));
    else context.print(`The ${name} ${keyId} is revoked; running services reject it within five seconds.`);
  });
}
