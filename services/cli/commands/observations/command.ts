import type { Command } from "commander";
import type { DefineCommand } from "../../framework/define-command.ts";
import type { RemoveOptions } from "./remove.ts";

const REMOVE_HELP = `
Every condition must hold; of an option that stands several times, one value is enough. Without a condition nothing is
removed.

Answers are then those of a store that never had these observations. Services may run meanwhile. Interrupted, the same
command again does what is left, and so does the next start of the intake.

Backups keep them, and what is sent or replayed again is stored again. Dead letters stay: see "noisefloor dead-letters purge".`;

const collect = (text: string, before: readonly string[] = []) => [...before, text];

export const define: DefineCommand = (observations, createContext) => {
  withConditions(
    observations.command("remove").description("delete stored observations for good, and all that was counted of them"),
  )
    .option("--dry-run", "say what it would delete, and change nothing", false)
    .option("--yes", "without asking", false)
    .addHelpText("after", REMOVE_HELP)
    .action(async (options: RemoveOptions) =>
      (await import("./remove.ts")).runObservationsRemove(options, await createContext()),
    );
};

function withConditions(command: Command): Command {
  return command
    .option("--sensor <id>", "of this sensor; may stand several times, as those below", collect)
    .option("--address <ip>", "of this source address", collect)
    .option("--network <cidr>", "of sources in this network, like 45.0.0.0/16", collect)
    .option("--dataset <name>", "of this dataset: global, community or personal", collect)
    .option("--workspace <id>", "of the personal dataset of this workspace", collect)
    .option("--format <name>", "of records in this log format, like cowrie", collect)
    .option("--since <time>", "seen since: an RFC 3339 time, or 5m, 12h or 7d ago")
    .option("--until <time>", "seen before: likewise")
    .option("--received-since <time>", "stored since, whenever they were seen: likewise");
}
