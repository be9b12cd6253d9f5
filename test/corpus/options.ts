import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

export const HELP = `Replays log files through the real pipeline into a database of its own, and compares what is stored with counts that
are taken from the raw records by other code.

  npm run corpus -- FILE OR FOLDER...
  CORPUS=/var/log/honeypots npm run corpus
  OWN_ADDRESSES=203.0.113.7 npm run corpus -- eve.json.gz

Arguments:
  FILE OR FOLDER    logs, gzip too, and folders with any number of them; or in CORPUS, separated by colons

Options:
  --format NAME     the format of all files (default auto)
  --help            this text

Settings like OWN_ADDRESSES, PORT_REWRITES and FIELD_MAPS count as in a replay. All times move to the present, so that nothing is
too old. The exit code is 1 when a count differs and neither a rejection nor a documented limit says why.`;

export type CorpusOptions = {
  readonly paths: readonly string[];
  readonly format: string;
  readonly help: boolean;
};

/** @throws Error for an unknown option, or without any file. */
export function readCorpusOptions(args: readonly string[], environment: string | undefined): CorpusOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { format: { type: "string", default: "auto" }, help: { type: "boolean", default: false } },
  });
  const paths = positionals.length > 0 ? positionals : (environment?.split(":").filter(Boolean) ?? []);
  if (paths.length === 0 && !values.help) throw new Error("name files or folders, or set CORPUS");
  return { paths, ...values };
}

/** The files among some paths and in their folders, in the order of their names. Hidden ones and texts about them are left out. */
export async function listFiles(paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    if (!(await stat(path)).isDirectory()) found.push(path);
    else {
      const names = (await readdir(path)).filter((name) => !/^\.|\.md$/.test(name)).sort();
      found.push(...(await listFiles(names.map((name) => join(path, name)))));
    }
  }
  return found;
}
