import type { Command } from "commander";
import { runKeysCreate, runKeysList, runKeysRevoke, runWorkspacesList, runWorkspacesWrite } from "./commands/access.ts";
import type { CommandContext } from "./commands/command.ts";
import { runSensorsCreate, runSensorsList, runSensorsRevoke } from "./commands/sensors.ts";

/** Adds the commands that say who may ask and who may publish. */
export function addAccessCommands(program: Command, createContext: () => CommandContext): void {
  const workspaces = program.command("workspaces").description("who may ask, on which plan");
  workspaces
    .command("list")
    .description("list them")
    .option("--json", "as JSON", false)
    .action((options: { json: boolean }) => runWorkspacesList(options, createContext()));
  for (const isNew of [true, false]) {
    workspaces
      .command(isNew ? "create" : "set")
      .description(isNew ? "make one (plan community unless said otherwise)" : "change one")
      .argument("<id>", "letters, digits, _ and -")
      .option("--name <name>", "what people call it")
      .option("--plan <plan>", "its plan")
      .option("--entitlements <list>", 'comma-separated: community_dataset; "" for none')
      .action((id: string, options: { name?: string; plan?: string; entitlements?: string }) =>
        runWorkspacesWrite(id, { ...options, isNew }, createContext()),
      );
  }
  const keys = program.command("keys").description("keys of workspaces");
  keys
    .command("create")
    .description("make a key and show it, once")
    .argument("<workspace>")
    .option("--label <text>", "what it is for", "")
    .option("--json", "as JSON", false)
    .action((workspace: string, options: { label: string; json: boolean }) =>
      runKeysCreate(workspace, options, createContext()),
    );
  keys
    .command("list")
    .description("list them")
    .option("--json", "as JSON", false)
    .action((options: { json: boolean }) => runKeysList(options, createContext()));
  keys
    .command("revoke")
    .description("end a key's validity")
    .argument("<id>")
    .action((id: string) => runKeysRevoke(id, createContext()));

  const sensors = program.command("sensors").description("keys of sensors: each fixes where its observations go");
  sensors
    .command("create")
    .description("make a key and show it, once")
    .option("--dataset <name>", "where its observations go: global, community or personal", "global")
    .option("--workspace <id>", "whose they are; for the personal dataset")
    .option("--label <text>", "what it is for", "")
    .option("--json", "as JSON", false)
    .action((options: { dataset: string; workspace?: string; label: string; json: boolean }) =>
      runSensorsCreate(options, createContext()),
    );
  sensors
    .command("list")
    .description("list them")
    .option("--json", "as JSON", false)
    .action((options: { json: boolean }) => runSensorsList(options, createContext()));
  sensors
    .command("revoke")
    .description("end a key's validity")
    .argument("<id>")
    .action((id: string) => runSensorsRevoke(id, createContext()));
}
