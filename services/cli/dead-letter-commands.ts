import { type Command, InvalidArgumentError } from "commander";
import type { ListOptions } from "./commands/dead-letters.ts";
import type { RetryOptions } from "./commands/dead-letters-retry.ts";
import type { CommandContext } from "./framework/command.ts";

const RETRY_HELP = `
A retry sends each dead letter's original bytes through the pipeline again: validated as at their intake, with their
sender's rights, and under the id they had there, so that nothing counts twice. What is accepted is stored and its dead
letter is done; what is refused stays, with its new reason.

What was refused as not-permitted stays refused, whatever the operator may do. --override-permission stores it where it
says it belongs (global when it says nothing). That flag also takes dead letters whose sender's rights were not noted.

Not retried are dead letters that were cut for their size, and lines of files that could not be read: replay the files.`;

/** Adds the commands for records that were refused. */
export function addDeadLetterCommands(program: Command, createContext: () => Promise<CommandContext>): void {
  const deadLetters = program
    .command("dead-letters")
    .description("records that were refused: look at them, retry them");
  withFilter(deadLetters.command("list"))
    .description("count them by source and reason, and list the newest")
    .option("--limit <n>", "how many to list", limit, 20)
    .option("--include-done", "also those that a retry has stored", false)
    .option("--json", "as JSON", false)
    .action(async (options: ListOptions) =>
      (await import("./commands/dead-letters.ts")).runDeadLettersList(options, await createContext()),
    );
  deadLetters
    .command("show")
    .description("show one: why, where from, and its payload, as text when it is text, else in hex")
    .argument("<id>", "as list shows it")
    .option("--raw", "write exactly its original bytes to standard output", false)
    .option("--json", "as JSON, the payload in base64", false)
    .action(async (id: string, options: { raw: boolean; json: boolean }) =>
      (await import("./commands/dead-letters.ts")).runDeadLettersShow(id, options, await createContext(), (bytes) =>
        process.stdout.write(bytes),
      ),
    );
  withFilter(deadLetters.command("retry"))
    .description("send them through the pipeline again, say after a missing tag was imported")
    .argument("[id...]", "as list shows them")
    .option("--all", "all that are not done", false)
    .option("--dry-run", "say what would become of them, and change nothing", false)
    .option("--override-permission", "store also what its sender was not permitted to write", false)
    .option("--json", "as JSON", false)
    .addHelpText("after", RETRY_HELP)
    .action(async (ids: string[], options: RetryOptions) =>
      (await import("./commands/dead-letters-retry.ts")).runDeadLettersRetry(ids, options, await createContext()),
    );
}

function withFilter(command: Command): Command {
  return command
    .option("--reason <reason>", "only with this reason")
    .option("--source <source>", "only from http, file or kafka")
    .option("--since <time>", "only kept since: an RFC 3339 time, or 12h or 7d ago");
}

function limit(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError("It takes a whole number from 0 to 99999.");
  return Number(text);
}
