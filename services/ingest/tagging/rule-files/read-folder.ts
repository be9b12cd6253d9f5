import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { MAX_FILE_BYTES } from "./read-file.ts";

/** A file as it stands on disk: any change of its content changes `version`. */
export type FileVersion = {
  readonly file: string;
  readonly version: string;
  /** Size and seconds of the last change: what a copy of the file keeps. */
  readonly stamp: string;
};

/**
 * The files of rules in a folder and the folders below it (*.yaml, *.yml), in the order of their paths.
 * @throws Error when the folder cannot be read.
 */
export async function listRuleFiles(folder: string): Promise<FileVersion[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory() && /^[^.].*\.ya?ml$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  const versions = await Promise.all(
    files.map(async (file) => {
      const { size, mtimeMs, ino } = await stat(file);
      return { file, version: `${ino}/${size}/${mtimeMs}`, stamp: `${size}/${Math.floor(mtimeMs / 1_000)}` };
    }),
  );
  return versions;
}

/** @throws Error when the file is too large to hold rules, or cannot be read. */
export async function readRuleText(file: string): Promise<string> {
  const { size } = await stat(file);
  if (size > MAX_FILE_BYTES) throw new Error(`has ${size} bytes, at most ${MAX_FILE_BYTES} are allowed`);
  return readFile(file, "utf8");
}
