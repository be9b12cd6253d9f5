import { setTimeout as sleep } from "node:timers/promises";
import { credentials } from "@noisefloor/clickhouse/access/credentials.ts";
import {
  countPersonalObservations,
  deletePersonalData,
  deleteWorkspace,
} from "@noisefloor/clickhouse/access/workspace-data.ts";
import { workspaces } from "@noisefloor/clickhouse/access/workspaces.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import { confirm } from "../framework/confirm.ts";
import type { OutputOptions } from "../framework/output.ts";
import { withStore } from "../store/store.ts";
import { findWorkspace } from "./credentials.ts";

export type DeleteOptions = OutputOptions & { readonly yes: boolean };

/** Running services read revocations within five seconds. Until then they would store what the sensors send. */
const REVOCATION_MS = 6_000;

/** `noisefloor workspaces delete`. */
export function runWorkspacesDelete(id: string, options: DeleteOptions, context: CommandContext): Promise<void> {
  return withStore(context, async (client) => {
    await findWorkspace(client, id);
    if ((await workspaces.read(client)).length === 1) {
      throw new UserError(`"${id}" is the last workspace: create another one first, or no key could ask anything`);
    }
    const observations = await countPersonalObservations(client, id);
    const effect = `The workspace "${id}" would be deleted with its ${observations} personal observations, and its keys revoked`;
    await confirm(effect, options, context);
    const revoked = await revokeKeys(client, id);
    if (revoked.sensors > 0) await sleep(REVOCATION_MS);
    await deletePersonalData(client, id);
    await deleteWorkspace(client, id);
    const { print } = context;
    if (options.json) return print(JSON.stringify({ deleted: id, observations, revoked_keys: revoked.all }));
    print(`Deleted the workspace ${id} with ${observations} personal observations; revoked keys: ${revoked.all}.`);
  });
}

/** Its feeds' tokens are deleted with the feeds. */
async function revokeKeys(client: ClickHouseClient, id: string): Promise<{ all: number; sensors: number }> {
  const valid = (await credentials.read(client)).filter(
    ({ kind, workspaceId, isRevoked }) => kind !== "feed" && workspaceId === id && !isRevoked,
  );
  const revoked = valid.map((key) => ({ ...key, isRevoked: true }));
  await credentials.write(client, revoked, Date.now());
  return { all: revoked.length, sensors: revoked.filter(({ kind }) => kind === "sensor").length };
}
