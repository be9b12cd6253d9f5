import {
  credentials,
  makeCredential,
  needsSensorKey,
  writeCredential,
  writeIntakeOpen,
} from "@noisefloor/clickhouse/access/credentials.ts";
import { DATASETS, type Scope } from "@noisefloor/domain/access/scope.ts";
import { isSensorId } from "@noisefloor/domain/observation/schema.ts";
import { findWorkspace, runRevoke } from "../../access/credentials.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { confirm } from "../../framework/confirm.ts";
import type { DefineCommand } from "../../framework/define-command.ts";
import { type OutputOptions, showNewKey } from "../../framework/output.ts";
import { listSensors } from "../../sensors/list.ts";
import { withStore, withStoreToRead } from "../../store/store.ts";

export const define: DefineCommand = (sensors, createContext) => {
  sensors
    .command("create")
    .description("create a key and show it, once")
    .option("--dataset <name>", "where its observations go: global, community or personal", "global")
    .option("--workspace <id>", "whose they are; for the personal dataset")
    .option("--sensor-id <name>", "the one sensor that may use it; without it, any sensor")
    .option("--label <text>", "what it is for", "")
    .option("--yes", "also when it closes the intake to senders without a key, as the first key does", false)
    .action(async (options: SensorKeyOptions & { json: boolean; yes: boolean }) =>
      runSensorsCreate(options, await createContext()),
    );
  sensors
    .command("list")
    .description("list them, and what each sensor has sent: when last, how much, what was rejected and why")
    .action(async (options: { json: boolean }) => runSensorsList(options, await createContext()));
  sensors
    .command("open")
    .description("open the intake again to senders without a key; keys keep working")
    .option("--yes", "without asking", false)
    .action(async (options: { yes: boolean; json: boolean }) => runSensorsOpen(options, await createContext()));
  sensors
    .command("revoke")
    .description("revoke a key")
    .argument("<id>")
    .action(async (id: string, options: OutputOptions) =>
      runRevoke("sensor", id, options, await createContext(), { name: "sensor key", list: "sensors list" }),
    );
};

export type SensorKeyOptions = {
  readonly dataset: string;
  /** Required for the personal dataset, rejected for the others. */
  readonly workspace?: string | undefined;
  /** The one sensor that may use the key; left out, any. */
  readonly sensorId?: string | undefined;
  readonly label: string;
};

/** `noisefloor sensors create`. */
export async function runSensorsCreate(
  options: SensorKeyOptions & OutputOptions & { readonly yes: boolean },
  context: CommandContext,
): Promise<void> {
  const scope = readScope(options);
  const { sensorId = "" } = options;
  if (options.sensorId !== undefined && !isSensorId(options.sensorId)) {
    throw new UserError("--sensor-id takes a text of 1 to 128 characters without control characters");
  }
  await withStore(context, async (client) => {
    if (scope.dataset === "personal") await findWorkspace(client, scope.workspaceId);
    const isOpen = !needsSensorKey(await credentials.read(client));
    // With SENSOR_KEYS every sender needs a key already.
    const closesIntake = isOpen && context.settings.http.sensorKeys.length === 0;
    if (closesIntake) await confirm(CLOSES_INTAKE, options, context);
    const now = Date.now();
    const about = { ...scope, subject: sensorId, label: options.label };
    const { secret, credential } = makeCredential("sensor", about, now);
    await writeCredential(client, credential, now);
    if (isOpen) await writeIntakeOpen(client, false, now);
    const { dataset, workspaceId: workspace } = scope;
    showNewKey({ id: credential.id, dataset, workspace, sensor: sensorId, key: secret }, options, context);
    if (closesIntake && !options.json)
      context.print(
        "From now on every sender needs a key. To accept observations without a key again: noisefloor sensors open",
      );
  });
}

const CLOSES_INTAKE =
  "The intake accepts observations without a key; once this key exists every sender needs one, also for the global dataset";

/** `noisefloor sensors open`. */
export function runSensorsOpen(
  options: { readonly yes: boolean; readonly json?: boolean },
  context: CommandContext,
): Promise<void> {
  return withStore(context, async (client) => {
    const needKey = needsSensorKey(await credentials.read(client));
    if (needKey) {
      await confirm(
        "Every client that reaches the intake could write to the global and community datasets without a key",
        options,
        context,
      );
      await writeIntakeOpen(client, true, Date.now());
    }
    if (options.json) return context.print(JSON.stringify({ open: true, changed: needKey }));
    context.print(
      needKey
        ? "Within five seconds the intake also accepts observations without a key, until another key is created."
        : "The intake is open already.",
    );
    if (context.settings.http.sensorKeys.length > 0) {
      context.print("But SENSOR_KEYS is set: a service with that setting asks every sender for a key.");
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
  return withStoreToRead(context, (client) => listSensors(client, options, context));
}
