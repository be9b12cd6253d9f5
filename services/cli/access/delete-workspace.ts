import { setTimeout as sleep } from "node:timers/promises";
import { readSensorKeys, writeSensorKey } from "@noisefloor/clickhouse/access/sensor-keys.ts";
import {
  countPersonalObservations,
  deletePersonalData,
  deleteWorkspace,
} from "@noisefloor/clickhouse/access/workspace-data.ts";
import { readApiKeys, readWorkspaces, writeApiKey } from "@noisefloor/clickhouse/access/workspaces.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import { confirm } from "../framework/confirm.ts";
import type { OutputOptions } from "../framework/output.ts";
import { withStore } from "../store/store.ts";
import { findWorkspace } from "./api-keys.ts";

export type DeleteOptions = OutputOptions & { readonly yes: boolean };

/** Running services read revocations within five seconds. Until then they would store what the sensors send. */
const REVOCATION_MS = 6_000;

/** `noisefloor workspaces delete`. */
export function runWorkspacesDelete(id: string, options: DeleteOptions, context: CommandContext): Promise<void> {
  return withStore(context, async (client) => {
    await findWorkspace(client, id);
    if ((await readWorkspaces(client)).length === 1) {
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

async function revokeKeys(client: ClickHouseClient, id: string): Promise<{ all: number; sensors: number }> {
  const isOurs = (key: { workspaceId: string; isRevoked: boolean }) => key.workspaceId === id && !key.isRevoked;
  const sensors = (await readSensorKeys(client)).filter(isOurs);
  const callers = (await readApiKeys(client)).filter(isOurs);
  for (const key of sensors) await writeSensorKey(client, { ...key, isRevoked: true }, Date.now());
  for (const key of callers) await writeApiKey(client, { ...key, isRevoked: true }, Date.now());
  return { all: sensors.length + callers.length, sensors: sensors.length };
}
