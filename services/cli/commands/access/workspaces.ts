import { type Workspace, workspaces } from "@noisefloor/clickhouse/access/workspaces.ts";
import { ENTITLEMENTS, type Entitlement } from "@noisefloor/domain/access/caller.ts";
import { type Plans, UNAUTHENTICATED_PLAN } from "@noisefloor/domain/access/plan.ts";
import { isWorkspaceId, MAX_WORKSPACE_ID, WORKSPACE_ID_CHARACTERS } from "@noisefloor/domain/access/workspace-id.ts";
import { findWorkspace } from "../../access/credentials.ts";
import { type DeleteOptions, runWorkspacesDelete } from "../../access/delete-workspace.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import type { DefineCommand } from "../../framework/define-command.ts";
import { type OutputOptions, show } from "../../framework/output.ts";
import { withStore, withStoreToRead } from "../../store/store.ts";

export const define: DefineCommand = (command, createContext) => {
  command
    .command("list")
    .description("list them")
    .action(async (options: { json: boolean }) => runWorkspacesList(options, await createContext()));
  for (const isNew of [true, false]) {
    command
      .command(isNew ? "create" : "set")
      .description(isNew ? "create one (on the plan community unless --plan says otherwise)" : "change one")
      .argument("<id>", WORKSPACE_ID_CHARACTERS)
      .option("--name <name>", "what people call it")
      .option("--plan <plan>", "its plan")
      .option("--entitlements <list>", 'comma-separated: community_dataset, sensors; "" for none')
      .action(async (id: string, options: WorkspaceOptions) =>
        runWorkspacesWrite(id, { ...options, isNew }, await createContext()),
      );
  }
  command
    .command("delete")
    .description("revoke its keys, and delete it with its personal data")
    .argument("<id>")
    .option("--yes", "without asking", false)
    .action(async (id: string, options: DeleteOptions) => runWorkspacesDelete(id, options, await createContext()));
};

/** `noisefloor workspaces list`. */
function runWorkspacesList(options: OutputOptions, context: CommandContext): Promise<void> {
  return withStoreToRead(context, async (client) => {
    const all = await workspaces.read(client);
    if (options.json) context.print(JSON.stringify(all.map(toJson)));
    else show(all.map(toRow), options, context);
  });
}

/** The entitlements are an array, as in the interface. */
const toJson = ({ workspaceId, name, plan, entitlements }: Workspace) => ({
  id: workspaceId,
  name,
  plan,
  entitlements,
});

const toRow = ({ workspaceId, name, plan, entitlements }: Workspace) => ({
  id: workspaceId,
  name,
  plan,
  entitlements: entitlements.join(","),
});

type WorkspaceOptions = {
  readonly name?: string | undefined;
  readonly plan?: string | undefined;
  /** Comma-separated; an empty text takes all away. */
  readonly entitlements?: string | undefined;
  readonly json?: boolean | undefined;
};

/** `noisefloor workspaces create` and `noisefloor workspaces set`. */
export function runWorkspacesWrite(
  id: string,
  options: WorkspaceOptions & { readonly isNew: boolean },
  context: CommandContext,
): Promise<void> {
  if (!isWorkspaceId(id)) {
    throw new UserError(`a workspace's id is 1 to ${MAX_WORKSPACE_ID} ${WORKSPACE_ID_CHARACTERS}`);
  }
  if (options.plan !== undefined) assertPlan(options.plan, context.settings.plans);
  const entitlements = options.entitlements === undefined ? undefined : readEntitlements(options.entitlements);
  return withStore(context, async (client) => {
    const exists = (await workspaces.read(client)).some(({ workspaceId }) => workspaceId === id);
    if (options.isNew && exists) throw new UserError(`there is a workspace "${id}" already`);
    const current: Workspace = options.isNew
      ? { workspaceId: id, name: id, plan: "community", entitlements: [] }
      : await findWorkspace(client, id);
    const workspace: Workspace = {
      workspaceId: id,
      name: options.name ?? current.name,
      plan: options.plan ?? current.plan,
      entitlements: entitlements ?? current.entitlements,
    };
    await workspaces.write(client, [workspace], Date.now());
    if (options.json) context.print(JSON.stringify(toJson(workspace)));
    else show([toRow(workspace)], { json: false }, context);
  });
}

/** No workspace may have the plan of callers without a key, as their lookups are counted by address. */
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
