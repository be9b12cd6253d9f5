import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { z } from "zod";
import type { FileVersion } from "./read-folder.ts";

const preparedSchema = z.record(z.string(), z.object({ stamp: z.string(), value: z.unknown() }));

/** The contents of rule files, as the build has parsed them. */
export type PreparedRules = {
  /** The content of a file; undefined if it has changed since the build, or is new. */
  valueOf(file: FileVersion): unknown;
};

/** @param folder whose files they are. @returns undefined when there is no such file, as when the sources run. */
export function openPrepared(path: string, folder: string): PreparedRules | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
  const files = new Map(Object.entries(preparedSchema.parse(JSON.parse(text))));
  return {
    valueOf({ file, stamp }) {
      const prepared = files.get(relative(folder, file));
      return prepared?.stamp === stamp ? prepared.value : undefined;
    },
  };
}
