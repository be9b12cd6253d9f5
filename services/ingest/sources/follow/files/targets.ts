import { constants, statSync } from "node:fs";
import { access } from "node:fs/promises";
import { dirname, resolve, sep } from "node:path";
import { escapePath, glob, isDynamicPattern } from "tinyglobby";
import { AUTO, findFormats } from "../../../formats/all.ts";
import type { DecodeOptions, LogFormat } from "../../../formats/format.ts";

/** Files to follow: all that a pattern matches, now or later. */
export type FollowTarget = {
  /** An absolute path, a glob, or a folder with all that is below it. */
  readonly pattern: string;
  /** The sensor of all records; left out, each record's own word counts. */
  readonly sensor?: string | undefined;
  readonly format: string;
  readonly formats: readonly LogFormat[];
  readonly decode: DecodeOptions;
};

/**
 * Reads `[sensor=][format:]path`.
 * @throws RangeError for a format that is not known.
 */
export function readTarget(
  text: string,
  { formats: known, decode }: { readonly formats: readonly LogFormat[]; readonly decode: DecodeOptions },
): FollowTarget {
  const [, sensor, name = AUTO, path = ""] = /^(?:([^/=]{1,128})=)?(?:([a-z0-9-]+):)?(.+)$/s.exec(text) ?? [];
  const formats = findFormats(name, known);
  if (formats === undefined) {
    throw new RangeError(
      `"${text}": there is no log format "${name}"; there are ${[AUTO, ...known.map((format) => format.name)].join(", ")}`,
    );
  }
  return { pattern: resolve(path), sensor, format: name, formats, decode: { ...decode, sensorId: sensor } };
}

/**
 * The paths that a pattern matches now, symbolic links followed. A path that is there is taken as it is written.
 * @throws the system's error when the folder that the search starts from is not there or may not be read.
 */
export async function expand({ pattern }: FollowTarget): Promise<readonly string[]> {
  const there = statSync(pattern, { throwIfNoEntry: false });
  if (there !== undefined && !there.isDirectory()) return [pattern];
  if (there === undefined && !isDynamicPattern(pattern)) return [];
  const patterns = there === undefined ? pattern : `${escapePath(pattern)}/**`;
  let start = pattern;
  while (there === undefined && isDynamicPattern(start)) start = dirname(start);
  // The search itself finds nothing in a folder that it may not read, and says nothing.
  await access(start, constants.R_OK | constants.X_OK);
  return glob(patterns, { absolute: true, dot: true, expandDirectories: false });
}

/** @throws RangeError for a target inside the folder that this program writes to: what it stores would never end. */
export function assertOutside(targets: readonly FollowTarget[], folder: string): void {
  const own = resolve(folder) + sep;
  const inside = targets.find(({ pattern }) => `${pattern}${sep}`.startsWith(own));
  if (inside !== undefined) throw new RangeError(`${inside.pattern} is inside the data directory ${resolve(folder)}`);
}
