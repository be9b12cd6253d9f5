import type { DefineCommand } from "../../framework/define-command.ts";
import type { OutputOptions } from "../../framework/output.ts";
import type { ExplainOptions } from "./explain.ts";

export const define: DefineCommand = (tags, createContext) => {
  const imports = tags
    .command("import")
    .description("add or replace tags from a file: our YAML, or JSON in the wire shape of GET /v3/tags")
    .argument("<file>", 'or "-" for standard input')
    .option("--json", "as JSON", false)
    .action(async (file: string, options: OutputOptions) =>
      (await import("./catalogue.ts")).runTagsImport(file, await createContext(), options),
    );
  imports
    .command("sigma")
    .description(
      "make tagging rules of Sigma rules about web servers, proxies and Zeek's http, refusing what cannot be said",
    )
    .argument("<file...>", "one rule each")
    .requiredOption("--to <dir>", "the folder to write them to, like that of TAG_RULES_DIR")
    .action(async (files: string[], options: { to: string }) =>
      (await import("./import-sigma.ts")).runTagsImportSigma(files, options, await createContext()),
    );
  tags
    .command("list")
    .description("list them")
    .option("--json", "as JSON", false)
    .action(async (options: OutputOptions) =>
      (await import("./catalogue.ts")).runTagsList(options, await createContext()),
    );
  tags
    .command("remove")
    .description("remove tags from the catalogue; those of the starter catalogue stay")
    .argument("<tag...>", "their slugs or ids")
    .option("--yes", "also when observations carry them", false)
    .option("--json", "as JSON", false)
    .action(async (references: string[], options: { yes: boolean; json: boolean }) =>
      (await import("./catalogue.ts")).runTagsRemove(references, options, await createContext()),
    );
  tags
    .command("lint")
    .description("check files of tags and their rules; exit code 1 when one has an error")
    .argument("[dir...]", "folders; ours and TAG_RULES_DIR when left out")
    .action(async (folders: string[]) => (await import("./lint.ts")).runTagsLint(folders, await createContext()));
  tags
    .command("test")
    .description("run the examples and counterexamples of rules; exit code 1 when one fails")
    .argument("[dir...]", "folders; ours and TAG_RULES_DIR when left out")
    .action(async (folders: string[]) => (await import("./lint.ts")).runTagsTest(folders, await createContext()));
  tags
    .command("explain")
    .description("show which rules match an observation and why, and which lack one clause only")
    .argument("<event>", 'an observation as JSON, a file with one, or "-" for standard input; members may be missing')
    .option("--all", "every rule that lacks one clause, instead of the ten closest", false)
    .option("--json", "as JSON", false)
    .action(async (event: string, options: ExplainOptions) =>
      (await import("./explain.ts")).runTagsExplain(event, options, await createContext()),
    );
};
