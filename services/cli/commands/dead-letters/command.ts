import { type Command, InvalidArgumentError } from "commander";
import type { DefineCommand } from "../../framework/define-command.ts";
import type { ListOptions } from "./list-and-show.ts";
import type { PurgeOptions } from "./purge.ts";
import type { RetryOptions } from "./retry.ts";

const RETRY_HELP = `
A retry sends each dead letter's original bytes through the pipeline again: validated as when they came in, with their
sender's rights, and with the same id, so that nothing counts twice. What is accepted is stored, and its dead letter is
done; what is rejected stays open, with its new reason.

A record rejected as not-permitted is rejected again, whatever the operator may do. --override-permission stores it where
it says it belongs (global when it says nothing).

Skipped are dead letters that were cut for their size, batches of messages that could not be read, and lines of files that
could not be read: replay the files.`;

export const define: DefineCommand = (deadLetters, createContext) => {
  withFilter(deadLetters.command("list"))
    .description("count them by source and reason, and list the newest")
    .option("--limit <n>", "how many to list", limit, 20)
    .option("--include-done", "also those that a retry has stored", false)
    .action(async (options: ListOptions) =>
      (await import("./list-and-show.ts")).runDeadLettersList(options, await createContext()),
    );
  deadLetters
    .command("show")
    .description("show one: reason, origin, and its payload as text, or in hex when it is not text")
    .argument("<id>", "as list shows it")
    .option("--raw", "write exactly its original bytes to standard output", false)
    .option("--json", "as JSON, the payload in base64", false)
    .action(async (id: string, options: { raw: boolean; json: boolean }) =>
      (await import("./list-and-show.ts")).runDeadLettersShow(id, options, await createContext(), (bytes) =>
        process.stdout.write(bytes),
      ),
    );
  withFilter(deadLetters.command("retry"))
    .description("send them through the pipeline again, for example after a missing tag was imported")
    .argument("[id...]", "as list shows them")
    .option("--all", "all that are open", false)
    .option("--dry-run", "say what a retry would do, and change nothing", false)
    .option("--override-permission", "store also what its sender was not permitted to write", false)
    .addHelpText("after", RETRY_HELP)
    .action(async (ids: string[], options: RetryOptions) =>
      (await import("./retry.ts")).runDeadLettersRetry(ids, options, await createContext()),
    );
  withFilter(deadLetters.command("purge"))
    .description("delete them for good, also those that a retry has stored")
    .option("--all", "all of them", false)
    .option("--dry-run", "say what it would delete, and change nothing", false)
    .option("--yes", "without asking", false)
    .action(async (options: PurgeOptions) =>
      (await import("./purge.ts")).runDeadLettersPurge(options, await createContext()),
    );
};

function withFilter(command: Command): Command {
  return command
    .option("--reason <reason>", "only with this reason")
    .option("--source <source>", "only from http, file, kafka, hpfeeds or syslog")
    .option("--sensor <id>", "only of this sensor")
    .option("--key <id>", "only of the sender with this key")
    .option("--origin <name>", "only from this request, file or message, or those that begin so")
    .option("--since <time>", "only received since: an RFC 3339 time, or 5m, 12h or 7d ago")
    .option("--before <time>", "only received before: likewise");
}

function limit(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError("It takes a whole number from 0 to 99999.");
  return Number(text);
}
