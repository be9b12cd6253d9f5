import { makeCredential, readCredentials, writeCredential } from "@noisefloor/clickhouse/access/credentials.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { findWorkspace, runRevoke, stateOf } from "../../access/credentials.ts";
import type { CommandContext } from "../../framework/command.ts";
import type { DefineCommand } from "../../framework/define-command.ts";
import { type OutputOptions, show, showNewKey } from "../../framework/output.ts";
import { withStore } from "../../store/store.ts";

export const define: DefineCommand = (keys, createContext) => {
  keys
    .command("create")
    .description("create a key and show it, once")
    .argument("<workspace>")
    .option("--label <text>", "what it is for", "")
    .action(async (workspace: string, options: { label: string; json: boolean }) =>
      runKeysCreate(workspace, options, await createContext()),
    );
  keys
    .command("list")
    .description("list them")
    .action(async (options: { json: boolean }) => runKeysList(options, await createContext()));
  keys
    .command("revoke")
    .description("revoke a key")
    .argument("<id>")
    .action(async (id: string, options: OutputOptions) =>
      runRevoke("workspace", id, options, await createContext(), { name: "key", list: "keys list" }),
    );
};

/** `noisefloor keys create`. */
export function runKeysCreate(
  workspaceId: string,
  { label, json }: OutputOptions & { readonly label: string },
  context: CommandContext,
): Promise<void> {
  return withStore(context, async (client) => {
    await findWorkspace(client, workspaceId);
    const now = Date.now();
    const { secret, credential } = makeCredential("workspace", { workspaceId, label }, now);
    await writeCredential(client, credential, now);
    showNewKey({ id: credential.id, workspace: workspaceId, key: secret }, { json }, context);
  });
}

/** `noisefloor keys list`. */
function runKeysList(options: OutputOptions, context: CommandContext): Promise<void> {
  return withStore(context, async (client) => {
    const rows = (await readCredentials(client, "workspace")).map((key) => ({
      id: key.id,
      workspace: key.workspaceId,
      created: formatTimestamp(key.createdAt),
      state: stateOf(key),
      label: key.label,
    }));
    show(rows, options, context);
  });
}
