import type { Command } from "commander";
import { UserError } from "../../framework/command.ts";
import type { DefineCommand } from "../../framework/define-command.ts";
import type { OutputOptions } from "../../framework/output.ts";
import type { ExplainOptions } from "./explain.ts";
import type { ReapplyCommandOptions } from "./reapply.ts";

const REAPPLY_HELP = `
A tag that a sender named stays. A tag that only rules gave goes when no rule gives it any more. A tag stays as well when
its rule looks at what is not stored: a body beyond its first 256 characters, or how a session began.

Services may run meanwhile, with the same rules. Interrupted, the same command again does what is left.`;

const RULE_LANGUAGES = [
  ["sigma", "Sigma rules about web servers, proxies and Zeek's http"],
  ["crowdsec", "rules of CrowdSec's application firewall (WAF)"],
] as const;

const collect = (text: string, before: readonly string[]) => [...before, text];

export const define: DefineCommand = (tags, createContext) => {
  const imports = tags
    .command("import")
    .description("add or replace tags from a file: our YAML, or JSON in the wire shape of GET /v3/tags")
    .argument("<file>", 'or "-" for standard input')
    .action(async (file: string, options: OutputOptions) =>
      (await import("./catalogue.ts")).runTagsImport(file, await createContext(), options),
    );
  for (const [language, description] of RULE_LANGUAGES) {
    imports
      .command(language)
      .description(`make tagging rules of ${description}, refusing what cannot be said`)
      .argument("<path...>", 'files of one rule each, folders of them, or "-" for standard input')
      .requiredOption("--to <dir>", "the folder to write them to, like that of TAG_RULES_DIR")
      .action(async (paths: string[], _options: unknown, command: Command) => {
        // "tags import" has the option --json, too, and reads it.
        const options = command.optsWithGlobals<{ to: string; json: boolean }>();
        await (await import("./import-rules.ts")).runTagsImportRules(language, paths, options, await createContext());
      });
  }
  tags
    .command("list")
    .description("list them")
    .action(async (options: OutputOptions) =>
      (await import("./catalogue.ts")).runTagsList(options, await createContext()),
    );
  tags
    .command("remove")
    .description("remove tags from the catalogue; those of the starter catalogue stay")
    .argument("<tag...>", "their slugs or ids")
    .option("--yes", "also when observations carry them", false)
    .action(async (references: string[], options: { yes: boolean; json: boolean }) =>
      (await import("./catalogue.ts")).runTagsRemove(references, options, await createContext()),
    );
  tags
    .command("lint")
    .description("check files of tags and their rules; exit code 1 when one has an error")
    .argument("[dir...]", "folders; ours and TAG_RULES_DIR when left out")
    .action(async (folders: string[], options: OutputOptions) =>
      (await import("./lint.ts")).runTagsLint(folders, await createContext(), options),
    );
  tags
    .command("test")
    .description("run the examples and counterexamples of rules; exit code 1 when one fails")
    .argument("[dir...]", "folders; ours and TAG_RULES_DIR when left out")
    .action(async (folders: string[], options: OutputOptions) =>
      (await import("./lint.ts")).runTagsTest(folders, await createContext(), options),
    );
  tags
    .command("reapply")
    .description("give stored observations the tags of the rules as they are now")
    .requiredOption("--since <time>", "observations from an RFC 3339 time on, or from 12h or 7d ago on")
    .option("--until <time>", "only those before this time")
    .option("--tag <tag>", "only this tag, by its slug or id; may stand several times", collect, [])
    .option("--dry-run", "count what would change, and change nothing", false)
    .addHelpText("after", REAPPLY_HELP)
    .action(async (options: ReapplyCommandOptions) =>
      (await import("./reapply.ts")).runTagsReapply(options, await createContext()),
    );
  tags
    .command("explain")
    .description(
      "show which rules match an observation and why, and which lack one clause only; or who gave an address its tags",
    )
    .argument(
      "[event]",
      'an observation or a record of a sensor as JSON, a file with one, or "-" for standard input; members may be missing',
    )
    .option("--address <ip>", "of each tag of this address: whether a rule or a sender gave it, and when")
    .option("--tag <slug>", "each clause of this tag's rule, with what the observation has in its field")
    .option("--all", "every rule that lacks one clause, instead of the ten closest", false)
    .action(async (event: string | undefined, options: ExplainOptions & { address?: string }) => {
      const { address } = options;
      if ((event === undefined) === (address === undefined)) {
        throw new UserError("give an observation, or an address with --address");
      }
      const context = await createContext();
      if (event !== undefined) await (await import("./explain.ts")).runTagsExplain(event, options, context);
      if (address !== undefined) {
        await (await import("./explain-address.ts")).runTagsExplainAddress(address, options, context);
      }
    });
};
