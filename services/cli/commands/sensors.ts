import type { ClickHouseClient } from "@noisefloor/clickhouse/client.ts";
import {
  readSenders,
  readSensorKeys,
  writeIntakeOpen,
  writeSensorKey,
} from "@noisefloor/clickhouse/tables/sensor-keys.ts";
import { hashKey } from "@noisefloor/clickhouse/tables/workspaces.ts";
import { isSensorId } from "@noisefloor/domain/observation.ts";
import { DATASETS, type Scope } from "@noisefloor/domain/scope.ts";
import { formatTimestamp } from "@noisefloor/domain/window.ts";
import { findWorkspace, generateKey } from "../access.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import { confirm } from "../framework/confirm.ts";
import { type OutputOptions, show, showNewKey } from "../framework/output.ts";
import { withStore } from "../store.ts";

export type SensorKeyOptions = {
  readonly dataset: string;
  /** Required for the personal dataset, refused for the others. */
  readonly workspace?: string | undefined;
  /** The one sensor that it is for; left out, it may send for any. */
  readonly sensorId?: string | undefined;
  readonly label: string;
};

/** `noisefloor sensors create`. */
export async function runSensorsCreate(
  options: SensorKeyOptions & OutputOptions & { readonly yes: boolean },
  context: CommandContext,
): Promise<void> {
  const { dataset, workspaceId } = readScope(options);
  const { sensorId = "" } = options;
  if (options.sensorId !== undefined && !isSensorId(options.sensorId)) {
    throw new UserError("--sensor-id takes a text of 1 to 128 characters without control characters");
  }
  await withStore(context, async (client) => {
    if (dataset === "personal") await findWorkspace(client, workspaceId);
    const { keys, needKey } = await readSenders(client);
    // With SENSOR_KEYS every sender needs one already.
    const closes = !needKey && context.settings.http.sensorKeys.length === 0;
    if (closes) await confirm(CLOSING, options, context);
    const { keyId, key } = generateKey("nfs");
    const now = Date.now();
    const { label } = options;
    const stored = {
      keyId,
      label,
      dataset,
      workspaceId,
      sensorId,
      sha256: hashKey(key),
      createdAt: now,
      isRevoked: false,
    };
    await writeSensorKey(client, stored, now);
    if (!needKey && keys.length > 0) await writeIntakeOpen(client, false, now);
    showNewKey({ id: keyId, dataset, workspace: workspaceId, sensor: sensorId, key }, options, context);
    if (closes && !options.json)
      context.print(
        "From now on every sender needs a key. To take observations without one again: noisefloor sensors open",
      );
  });
}

const CLOSING =
  "The intake takes observations without a key; once this key is made every sender needs one, also for the global dataset";

/** `noisefloor sensors open`. */
export function runSensorsOpen(options: { readonly yes: boolean }, context: CommandContext): Promise<void> {
  return withStore(context, async (client) => {
    const { needKey } = await readSenders(client);
    if (needKey) {
      await confirm(
        "Whoever reaches the intake could write to the global and community datasets without a key",
        options,
        context,
      );
      await writeIntakeOpen(client, true, Date.now());
    }
    context.print(
      needKey
        ? "Within five seconds the intake takes observations without a key too, until another key is made."
        : "The intake is open already.",
    );
    if (context.settings.http.sensorKeys.length > 0) {
      context.print("But SENSOR_KEYS is set: a service that runs with it asks every sender for a key.");
    }
  });
}

function readScope({ dataset: name, workspace }: SensorKeyOptions): Scope {
  const dataset = DATASETS.find((candidate) => candidate === name);
  if (dataset === undefined) throw new UserError(`there is no dataset "${name}"; there are ${DATASETS.join(", ")}`);
  if (dataset === "personal") {
    if (workspace) return { dataset, workspaceId: workspace };
    throw new UserError("personal data belongs to a workspace: name it with --workspace");
  }
  if (workspace === undefined) return { dataset, workspaceId: "" };
  throw new UserError(`--workspace goes with --dataset personal alone: the ${dataset} dataset belongs to no workspace`);
}

/** `noisefloor sensors list`. */
export function runSensorsList(options: OutputOptions, context: CommandContext): Promise<void> {
  return withStore(context, async (client) => {
    const keys = await readSensorKeys(client);
    const rows = keys.map(({ keyId, dataset, workspaceId, sensorId = "", label, createdAt, isRevoked }) => ({
      id: keyId,
      dataset,
      workspace: workspaceId,
      sensor: sensorId,
      created: formatTimestamp(createdAt),
      state: isRevoked ? "revoked" : "valid",
      label,
    }));
    show(rows, options, context);
  });
}

/** `noisefloor sensors revoke`. */
export function runSensorsRevoke(keyId: string, context: CommandContext): Promise<void> {
  return withStore(context, async (client) => {
    await revokeSensorKey(client, keyId, Date.now());
    context.print(`The sensor key ${keyId} is revoked; running services refuse it within five seconds.`);
  });
}

/** Throws a UserError when there is no such key; one revoked before stays so. */
async function revokeSensorKey(client: ClickHouseClient, keyId: string, now: number): Promise<void> {
  const key = (await readSensorKeys(client)).find((candidate) => candidate.keyId === keyId);
  if (key === undefined) {
    throw new UserError(`there is no sensor key with the id "${keyId}": see "noisefloor sensors list"`);
  }
  await writeSensorKey(client, { ...key, isRevoked: true }, now);
}
