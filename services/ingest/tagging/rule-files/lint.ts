import type { RuleProblem } from "../rule.ts";
import type { ExampleCheck, ParsedTag } from "./parse-tag.ts";
import type { PreparedRules } from "./prepared.ts";
import { checkRuleFile, type RuleFile, readRuleFile } from "./read-file.ts";
import { type FileVersion, listRuleFiles, readRuleText } from "./read-folder.ts";

/** The tags of one or several folders. */
export type LintResult = {
  readonly files: number;
  /** A slug that several folders have stands for its tag of the last one. */
  readonly tags: readonly ParsedTag[];
  readonly problems: readonly RuleProblem[];
};

/** A folder of rules. */
export type RuleFolder = {
  readonly path: string;
  readonly examples: ExampleCheck;
  /** The rules of files whose examples are skipped. */
  readonly prepared?: PreparedRules | undefined;
};

/**
 * Reads and checks all files of folders. A tag of a later folder replaces one of an earlier folder; within a folder a
 * slug may stand once.
 * @throws Error when a folder cannot be read.
 */
export async function lintFolders(folders: readonly string[]): Promise<LintResult> {
  const read = await Promise.all(folders.map((path) => readFolder({ path, examples: "checked" })));
  const problems = read.flatMap((files) => [...files.flatMap((file) => file.problems), ...duplicates(files)]);
  const bySlug = new Map<string, ParsedTag>();
  for (const tag of read.flat().flatMap(({ tags }) => tags)) bySlug.set(tag.entry.slug, tag);
  for (const { file, tags } of read.flat()) {
    for (const { entry } of tags) {
      const unknown = (entry.related ?? []).filter((slug) => !bySlug.has(slug));
      if (unknown.length > 0) {
        problems.push({ file, severity: "warning", message: `related: no file has the tags ${unknown.join(", ")}` });
      }
    }
  }
  return { files: read.flat().length, tags: [...bySlug.values()], problems };
}

/** The files of a folder, in the order of their paths. @throws Error when it cannot be read. */
export async function readFolder(folder: RuleFolder): Promise<RuleFile[]> {
  const files: RuleFile[] = [];
  for (const version of await listRuleFiles(folder.path)) files.push(await readRules(version, folder));
  return files;
}

/** As they were read last. A start reads all files for the catalogue, and once more for their rules. */
const filesByPath = new Map<string, { readonly version: string; readonly content: RuleFile }>();

/** @returns an unreadable file as one with an error. */
export async function readRules(
  from: FileVersion,
  { examples, prepared }: Pick<RuleFolder, "examples" | "prepared">,
): Promise<RuleFile> {
  const { file, version } = from;
  const key = `${examples} ${version}`;
  const before = filesByPath.get(file);
  if (before?.version === key) return before.content;
  try {
    const value = prepared?.valueOf(from);
    const content =
      value === undefined
        ? readRuleFile(file, await readRuleText(file), examples)
        : checkRuleFile(file, value, examples);
    filesByPath.set(file, { version: key, content });
    return content;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { file, tags: [], problems: [{ file, severity: "error", message }] };
  }
}

/** One error for each file that has a slug which another file of its folder has, too. */
export function duplicates(files: readonly RuleFile[]): RuleProblem[] {
  const first = new Map<string, string>();
  const problems: RuleProblem[] = [];
  for (const { file, tags } of files) {
    for (const { entry } of tags) {
      const other = first.get(entry.slug);
      if (other === undefined) first.set(entry.slug, file);
      else problems.push({ file, severity: "error", message: `slug: "${entry.slug}" stands in ${other} already` });
    }
  }
  return problems;
}
