import { readApiKeys, writeApiKey } from "@noisefloor/clickhouse/access/workspaces.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { findWorkspace, generateKey, writeNewKey } from "../../access/api-keys.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import type { DefineCommand } from "../../framework/define-command.ts";
import { type OutputOptions, show, showNewKey } from "../../framework/output.ts";
import { withStore } from "../../store/store.ts";

export const define: DefineCommand = (keys, createContext) => {
  keys
    .command("create")
    .description("create a key and show it, once")
    .argument("<workspace>")
    .option("--label <text>", "what it is for", "")
    .option("--json", "as JSON", false)
    .action(async (workspace: string, options: { label: string; json: boolean }) =>
      runKeysCreate(workspace, options, await createContext()),
    );
  keys
    .command("list")
    .description("list them")
    .option("--json", "as JSON", false)
    .action(async (options: { json: boolean }) => runKeysList(options, await createContext()));
  keys
    .command("revoke")
    .description("revoke a key")
    .argument("<id>")
    .option("--json", "as JSON", false)
    .action(async (id: string, options: OutputOptions) => runKeysRevoke(id, options, await createContext()));
};

/** `noisefloor keys create`. */
export function runKeysCreate(
  workspaceId: string,
  { label, json }: OutputOptions & { readonly label: string },
  context: CommandContext,
): Promise<void> {
  return withStore(context, async (client) => {
    await findWorkspace(client, workspaceId);
    const key = generateKey("nf");
    await writeNewKey(client, key, { workspaceId, label }, Date.now());
    showNewKey({ id: key.keyId, workspace: workspaceId, key: key.key }, { json }, context);
  });
}

/** `noisefloor keys list`. */
function runKeysList(options: OutputOptions, context: CommandContext): Promise<void> {
  return withStore(context, async (client) => {
    const keys = await readApiKeys(client);
    const rows = keys.map(({ keyId, workspaceId, label, createdAt, isRevoked }) => ({
      id: keyId,
      workspace: workspaceId,
      created: formatTimestamp(createdAt),
      state: isRevoked ? "revoked" : "valid",
      label,
    }));
    show(rows, options, context);
  });
}

/** `noisefloor keys revoke`: revoking a revoked key changes nothing. */
function runKeysRevoke(keyId: string, { json }: OutputOptions, context: CommandContext): Promise<void> {
  return withStore(context, async (client) => {
    const key = (await readApiKeys(client)).find((candidate) => candidate.keyId === keyId);
    if (key === undefined) throw new UserError(`there is no key with the id "${keyId}": see "noisefloor keys list"`);
    await writeApiKey(client, { ...key, isRevoked: true }, Date.now());
    if (json) context.print(JSON.stringify({ id: keyId, state: "revoked" }));
    else context.print(`The key ${keyId} is revoked; running services reject it within five seconds.`);
  });
}
