import type { Command } from "commander";
import type { CommandContext } from "./commands/command.ts";
import { runRetention } from "./commands/retention.ts";
import { positiveInteger } from "./positive-integer.ts";

/** Adds the commands that look after the store. */
export function addCareCommands(program: Command, createContext: () => CommandContext): void {
  program
    .command("retention")
    .description("show what each table holds from when to when, its size, and how long it is kept; changes nothing")
    .option("--days <n>", "also what this retention would delete (default: RETENTION_DAYS)", positiveInteger)
    .option("--json", "as JSON", false)
    .action((options: { days?: number; json: boolean }) => runRetention(options, createContext()));
}
