import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { readInput } from "../../framework/input.ts";
import { type OutputOptions, printable } from "../../framework/output.ts";
import { convertCrowdsec } from "../../tags/import/crowdsec/convert.ts";
import { convertSigma } from "../../tags/import/sigma/convert.ts";

/** Whose rules can be imported. Each returns why it refuses one. */
const CONVERTERS = { sigma: convertSigma, crowdsec: convertCrowdsec } as const;
export type RuleOrigin = keyof typeof CONVERTERS;

/**
 * `noisefloor tags import sigma` and `noisefloor tags import crowdsec`.
 * @param paths files of one rule each, and folders of such files; `-` is standard input.
 * @param options `to`: the folder that the rules are written to.
 */
export async function runTagsImportRules(
  origin: RuleOrigin,
  paths: readonly string[],
  { to, json }: { readonly to: string } & Partial<OutputOptions>,
  context: CommandContext,
): Promise<void> {
  const { print } = context;
  const files = (await Promise.all(paths.map(filesOf))).flat();
  await mkdir(to, { recursive: true });
  const written: { file: string; slug: string }[] = [];
  const refused: { file: string; reason: string }[] = [];
  for (const file of files) {
    const result = await importRule(origin, file, to, context);
    if ("slug" in result) written.push({ file, ...result });
    else refused.push({ file, ...result });
  }
  if (json) print(JSON.stringify({ written, refused }));
  else {
    for (const { file, reason } of refused) print(printable(`refused ${file}: ${reason}`));
    print(`written  ${written.length}`);
    print(`refused  ${refused.length}`);
  }
  if (written.length === 0) throw new UserError("no rule was written");
  if (!json) print(NEXT_STEP);
}

const NEXT_STEP =
  'The example of each was made of the rule itself: add real ones and counterexamples, then "noisefloor tags lint".';

/** A path that cannot be read stays: reading it says why. So does standard input. */
async function filesOf(path: string): Promise<string[]> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

async function importRule(
  origin: RuleOrigin,
  file: string,
  to: string,
  context: CommandContext,
): Promise<{ slug: string } | { reason: string }> {
  try {
    const converted = CONVERTERS[origin](await readInput(file, context));
    if (typeof converted === "string") return { reason: converted };
    // A rule that was imported before may have been worked on since.
    await writeFile(join(to, `${converted.slug}.yaml`), converted.text, { flag: "wx" });
    return { slug: converted.slug };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}
