import type { Command } from "commander";
import type { CommandContext } from "./framework/command.ts";

const LISTS_HELP = `
Of a folder its .json files are imported, and the list.json of each folder right below it when Noisefloor knows that list
as one of this kind; all others are skipped and named. A list that holds under half of the networks that it had keeps what
is stored, as a download may have broken off: --force imports it all the same.`;

/** Adds the commands for tags and for lists of networks. */
export function addReferenceCommands(program: Command, createContext: () => Promise<CommandContext>): void {
  const tags = program.command("tags").description("the tag catalogue");
  tags
    .command("import")
    .description("add or replace tags from a file: our YAML, or JSON in the wire shape of GET /v3/tags")
    .argument("<file>")
    .action(async (file: string) => (await import("./commands/tags.ts")).runTagsImport(file, await createContext()));
  tags
    .command("list")
    .description("list them")
    .option("--json", "as JSON", false)
    .action(async (options: { json: boolean }) =>
      (await import("./commands/tags.ts")).runTagsList(options, await createContext()),
    );
  tags
    .command("remove")
    .description("take tags out of the catalogue; those of the starter catalogue stay")
    .argument("<tag...>", "their slugs or ids")
    .option("--yes", "also when observations carry them", false)
    .action(async (references: string[], options: { yes: boolean }) =>
      (await import("./commands/tags.ts")).runTagsRemove(references, options, await createContext()),
    );

  for (const [name, kind, description] of [
    ["benign", "service", "networks of known benign services (riot)"],
    ["actors", "actor", "networks of known benign scan operators"],
  ] as const) {
    const lists = program.command(name).description(description);
    lists
      .command("import")
      .description("replace lists of networks from a MISP warninglist, or a folder of them")
      .argument("<path>")
      .option("--force", "also lists that shrank, or a file that is known as a list of another kind", false)
      .addHelpText("after", LISTS_HELP)
      .action(async (path: string, options: { force: boolean }) =>
        (await import("./commands/networks.ts")).runNetworksImport(kind, path, options, await createContext()),
      );
    lists
      .command("list")
      .description("list them")
      .option("--json", "as JSON", false)
      .action(async (options: { json: boolean }) =>
        (await import("./commands/networks.ts")).runNetworksList(kind, options, await createContext()),
      );
    lists
      .command("remove")
      .description("take lists away")
      .argument("<id...>", "as list shows them")
      .action(async (ids: string[]) =>
        (await import("./commands/networks.ts")).runNetworksRemove(kind, ids, await createContext()),
      );
  }
}
