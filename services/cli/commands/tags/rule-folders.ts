import { type LintResult, lintFolders } from "@noisefloor/ingest/tagging/rule-files/lint.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { TAGS_DIRECTORY } from "../../paths.ts";

/** Reads the rules of folders; of none given, those of Noisefloor and of TAG_RULES_DIR. */
export async function lintRules(
  folders: readonly string[],
  { settings }: Pick<CommandContext, "settings">,
): Promise<LintResult> {
  const { tagRulesDirectory } = settings;
  const standard = [TAGS_DIRECTORY, ...(tagRulesDirectory === undefined ? [] : [tagRulesDirectory])];
  try {
    return await lintFolders(folders.length > 0 ? folders : standard);
  } catch (error) {
    throw new UserError(error instanceof Error ? error.message : String(error));
  }
}
