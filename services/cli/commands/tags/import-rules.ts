import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { convertCrowdsec } from "@noisefloor/ingest/tagging/crowdsec/convert.ts";
import { convertSigma } from "@noisefloor/ingest/tagging/sigma/convert.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { printable } from "../../framework/output.ts";

/** Whose rules can be imported. Each returns why it refuses one. */
const CONVERTERS = { sigma: convertSigma, crowdsec: convertCrowdsec } as const;
export type RuleOrigin = keyof typeof CONVERTERS;

/**
 * `noisefloor tags import sigma` and `noisefloor tags import crowdsec`.
 * @param paths files of one rule each, and folders of such files.
 * @param options `to`: the folder that the rules are written to.
 */
export async function runTagsImportRules(
  origin: RuleOrigin,
  paths: readonly string[],
  { to }: { readonly to: string },
  { print }: CommandContext,
): Promise<void> {
  const files = (await Promise.all(paths.map(filesOf))).flat();
  await mkdir(to, { recursive: true });
  let written = 0;
  for (const file of files) {
    const problem = await importRule(origin, file, to);
    if (problem === undefined) written++;
    else print(printable(`refused ${file}: ${problem}`));
  }
  print(`written  ${written}`);
  print(`refused  ${files.length - written}`);
  if (written === 0) throw new UserError("no rule was written");
  print(
    'The example of each was made of the rule itself: add real ones and counterexamples, then "noisefloor tags lint".',
  );
}

/** A path that cannot be read stays: reading it says why. */
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

/** @returns why it was refused. */
async function importRule(origin: RuleOrigin, file: string, to: string): Promise<string | undefined> {
  try {
    const converted = CONVERTERS[origin](await readFile(file, "utf8"));
    if (typeof converted === "string") return converted;
    // A rule that was imported before may have been worked on since.
    await writeFile(join(to, `${converted.slug}.yaml`), converted.text, { flag: "wx" });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
