import type { Command } from "commander";
import type { SensorKeyOptions } from "./commands/sensors.ts";
import type { CommandContext } from "./framework/command.ts";

/** Adds the commands that say who may ask and who may publish. */
export function addAccessCommands(program: Command, createContext: () => Promise<CommandContext>): void {
  const workspaces = program.command("workspaces").description("who may ask, on which plan");
  workspaces
    .command("list")
    .description("list them")
    .option("--json", "as JSON", false)
    .action(async (options: { json: boolean }) =>
      (await import("./commands/access.ts")).runWorkspacesList(options, await createContext()),
    );
  for (const isNew of [true, false]) {
    workspaces
      .command(isNew ? "create" : "set")
      .description(isNew ? "make one (plan community unless said otherwise)" : "change one")
      .argument("<id>", "letters, digits, _ and -")
      .option("--name <name>", "what people call it")
      .option("--plan <plan>", "its plan")
      .option("--entitlements <list>", 'comma-separated: community_dataset; "" for none')
      .action(async (id: string, options: { name?: string; plan?: string; entitlements?: string }) =>
        (await import("./commands/access.ts")).runWorkspacesWrite(id, { ...options, isNew }, await createContext()),
      );
  }
  const keys = program.command("keys").description("keys of workspaces");
  keys
    .command("create")
    .description("make a key and show it, once")
    .argument("<workspace>")
    .option("--label <text>", "what it is for", "")
    .option("--json", "as JSON", false)
    .action(async (workspace: string, options: { label: string; json: boolean }) =>
      (await import("./commands/access.ts")).runKeysCreate(workspace, options, await createContext()),
    );
  keys
    .command("list")
    .description("list them")
    .option("--json", "as JSON", false)
    .action(async (options: { json: boolean }) =>
      (await import("./commands/access.ts")).runKeysList(options, await createContext()),
    );
  keys
    .command("revoke")
    .description("revoke a key")
    .argument("<id>")
    .action(async (id: string) => (await import("./commands/access.ts")).runKeysRevoke(id, await createContext()));

  const sensors = program.command("sensors").description("keys of sensors: each fixes where its observations go");
  sensors
    .command("create")
    .description("make a key and show it, once")
    .option("--dataset <name>", "where its observations go: global, community or personal", "global")
    .option("--workspace <id>", "whose they are; for the personal dataset")
    .option("--sensor-id <name>", "the one sensor that it is for; without it, any")
    .option("--label <text>", "what it is for", "")
    .option("--json", "as JSON", false)
    .option("--yes", "also when it closes the intake to senders without a key, as the first one does", false)
    .action(async (options: SensorKeyOptions & { json: boolean; yes: boolean }) =>
      (await import("./commands/sensors.ts")).runSensorsCreate(options, await createContext()),
    );
  sensors
    .command("list")
    .description("list them")
    .option("--json", "as JSON", false)
    .action(async (options: { json: boolean }) =>
      (await import("./commands/sensors.ts")).runSensorsList(options, await createContext()),
    );
  sensors
    .command("open")
    .description("open the intake again to senders without a key; keys go on working")
    .option("--yes", "without asking", false)
    .action(async (options: { yes: boolean }) =>
      (await import("./commands/sensors.ts")).runSensorsOpen(options, await createContext()),
    );
  sensors
    .command("revoke")
    .description("revoke a key")
    .argument("<id>")
    .action(async (id: string) => (await import("./commands/sensors.ts")).runSensorsRevoke(id, await createContext()));
}
