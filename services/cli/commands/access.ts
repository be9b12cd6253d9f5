import {
  readApiKeys,
  readWorkspaces,
  type Workspace,
  writeWorkspace,
} from "@noisefloor/clickhouse/tables/workspaces.ts";
import { ENTITLEMENTS, type Entitlement } from "@noisefloor/domain/caller.ts";
import { type Plans, UNAUTHENTICATED_PLAN } from "@noisefloor/domain/plan.ts";
import { formatTimestamp } from "@noisefloor/domain/window.ts";
import { createKey, findWorkspace, revokeKey } from "../access.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import { type OutputOptions, show, showNewKey } from "../framework/output.ts";
import { withStore } from "../store.ts";

/** `noisefloor workspaces list`. */
export function runWorkspacesList(options: OutputOptions, context: CommandContext): Promise<void> {
  return withStore(context, async (client) => show((await readWorkspaces(client)).map(toRow), options, context));
}

const toRow = ({ workspaceId, name, plan, entitlements }: Workspace) => ({
  id: workspaceId,
  name,
  plan,
  entitlements: entitlements.join(","),
});

export type WorkspaceOptions = {
  readonly name?: string | undefined;
  readonly plan?: string | undefined;
  /** Comma-separated; an empty text takes all away. */
  readonly entitlements?: string | undefined;
};

/** `noisefloor workspaces create` and `noisefloor workspaces set`. */
export function runWorkspacesWrite(
  id: string,
  options: WorkspaceOptions & { readonly isNew: boolean },
  context: CommandContext,
): Promise<void> {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) throw new UserError("a workspace's id is 1 to 64 letters, digits, _ and -");
  if (options.plan !== undefined) assertPlan(options.plan, context.settings.plans);
  const entitlements = options.entitlements === undefined ? undefined : readEntitlements(options.entitlements);
  return withStore(context, async (client) => {
    const isThere = (await readWorkspaces(client)).some(({ workspaceId }) => workspaceId === id);
    if (options.isNew && isThere) throw new UserError(`there is a workspace "${id}" already`);
    const current: Workspace = options.isNew
      ? { workspaceId: id, name: id, plan: "community", entitlements: [] }
      : await findWorkspace(client, id);
    const workspace: Workspace = {
      workspaceId: id,
      name: options.name ?? current.name,
      plan: options.plan ?? current.plan,
      entitlements: entitlements ?? current.entitlements,
    };
    await writeWorkspace(client, workspace, Date.now());
    show([toRow(workspace)], { json: false }, context);
  });
}

/** The plan of callers without a key is no workspace's: its lookups count by address, theirs by workspace. */
function assertPlan(plan: string, plans: Plans): void {
  const possible = [...plans.keys()].filter((name) => name !== UNAUTHENTICATED_PLAN).join(", ");
  if (plan === UNAUTHENTICATED_PLAN) {
    throw new UserError(`the plan "${plan}" is for callers without a key; a workspace may have ${possible}`);
  }
  if (!plans.has(plan)) throw new UserError(`there is no plan "${plan}"; there are ${possible}`);
}

function readEntitlements(text: string): Entitlement[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => {
      const entitlement = ENTITLEMENTS.find((name) => name === part);
      if (entitlement !== undefined) return entitlement;
      throw new UserError(`there is no entitlement "${part}"; there is ${ENTITLEMENTS.join(", ")}`);
    });
}

/** `noisefloor keys create`. */
export function runKeysCreate(
  workspaceId: string,
  options: OutputOptions & { readonly label: string },
  context: CommandContext,
): Promise<void> {
  return withStore(context, async (client) => {
    const { keyId, key } = await createKey(client, workspaceId, options.label, Date.now());
    showNewKey({ id: keyId, workspace: workspaceId, key }, options, context);
  });
}

/** `noisefloor keys list`. */
export function runKeysList(options: OutputOptions, context: CommandContext): Promise<void> {
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

/** `noisefloor keys revoke`. */
export function runKeysRevoke(keyId: string, context: CommandContext): Promise<void> {
  return withStore(context, async (client) => {
    await revokeKey(client, keyId, Date.now());
    context.print(`The key ${keyId} is revoked; running services refuse it within five seconds.`);
  });
}
