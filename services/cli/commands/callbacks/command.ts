import type { Command } from "commander";
import type { DefineCommand } from "../../framework/define-command.ts";
import { positiveInteger } from "../../framework/positive-integer.ts";
import type { AskOptions, ListOptions } from "./callbacks.ts";

const HELP = `
Examples:
  noisefloor callbacks
  noisefloor callbacks 'tags:mirai' --days 7 --unknown
  noisefloor callbacks known add downloads.example.org --note 'our mirror'

The query, in the language of docs/search.md, selects the visitors whose callbacks are listed.`;

const asking = (command: Command) =>
  command
    .option("--url <url>", "the query interface (default: QUERY_URL, else the service beside this command)")
    .option("--key <key>", "the key of a workspace (default: QUERY_KEY)")
    .option("--json", "as JSON", false);

export const define: DefineCommand = (callbacks, createContext) => {
  const commands = () => import("./callbacks.ts");
  asking(
    callbacks
      .command("list", { isDefault: true })
      .description("list the hosts that visitors told sensors to fetch from"),
  )
    .argument("[query...]", "which visitors count (default: all); several words are one query")
    .option("--days <n>", "only observations of the last days count (default: all that is stored)", positiveInteger)
    .option("--limit <n>", "at most this many hosts, those named last", positiveInteger, 100)
    .option("--unknown", "without well-known hosts of code and files", false)
    .addHelpText("after", HELP)
    .action(async (words: string[], options: ListOptions) =>
      (await commands()).runCallbacksList(words.join(" ").trim(), options, await createContext()),
    );

  const known = callbacks.command("known").description("well-known hosts of code and files, which no feed lists");
  asking(known.command("list").description("list those of the workspace, and those that held something back"))
    .option("--all", "also those that come along and held nothing back", false)
    .action(async (options: AskOptions & { readonly all: boolean }) =>
      (await commands()).runKnownList(options, await createContext()),
    );
  asking(known.command("add").description("make a host, and every name below it, a known one"))
    .argument("<host>", "a name like downloads.example.org, or an address")
    .option("--note <text>", "whose it is", "")
    .action(async (host: string, options: AskOptions & { readonly note: string }) =>
      (await commands()).runKnownAdd(host, options, await createContext()),
    );
  asking(known.command("remove").description("make a host of the workspace a known one no longer"))
    .argument("<host>")
    .action(async (host: string, options: AskOptions) =>
      (await commands()).runKnownRemove(host, options, await createContext()),
    );
};
