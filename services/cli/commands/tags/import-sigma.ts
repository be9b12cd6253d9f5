import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { convertSigma } from "@noisefloor/ingest/tagging/sigma/convert.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { printable } from "../../framework/output.ts";

/** `noisefloor tags import sigma`. @param options `to`: the folder that the rules are written to. */
export async function runTagsImportSigma(
  files: readonly string[],
  { to }: { readonly to: string },
  { print }: CommandContext,
): Promise<void> {
  await mkdir(to, { recursive: true });
  let written = 0;
  for (const file of files) {
    const problem = await importRule(file, to);
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

/** @returns why it was refused. */
async function importRule(file: string, to: string): Promise<string | undefined> {
  try {
    const converted = convertSigma(await readFile(file, "utf8"));
    if (typeof converted === "string") return converted;
    // A rule that was imported before may have been worked on since.
    await writeFile(join(to, `${converted.slug}.yaml`), converted.text, { flag: "wx" });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
