import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { ROOT } from "./documents.ts";

/** An import of a file of the repository. */
export type Import = {
  readonly file: string;
  /** Whether it imports types alone, which are gone when the program runs. */
  readonly isOfTypes: boolean;
};

/** Static imports and exports from a file, and dynamic imports. */
const IMPORT = /^(?:import|export) (?:(type )?([^;"]*?) from )?"([^"]+)"|\bimport\(\s*"([^"]+)"/gm;
const SOURCE = /(?<!\.test)\.tsx?$/;

/** The imports of each source file of libs and services, but for tests. Paths are from the repository's folder. */
export async function readImports(): Promise<ReadonlyMap<string, readonly Import[]>> {
  const folders = await Promise.all(["libs", "services"].map(async (folder) => namesIn(folder)));
  const packages = folders.flat();
  const listed = await Promise.all(packages.map((name) => listSources(name)));
  const files = listed.flat();
  const isSource = new Set(files);
  const read = async (file: string): Promise<[string, Import[]]> => {
    const text = await readFile(ROOT + file, "utf8");
    const imports = Array.from(text.matchAll(IMPORT), ([, type, names = "", from = "", dynamic = from]) => ({
      file: resolvePath(dynamic, file, packages),
      isOfTypes: type !== undefined || isOfTypes(names),
    }));
    return [file, imports.filter((each) => isSource.has(each.file))];
  };
  return new Map(await Promise.all(files.map(read)));
}

const namesIn = async (folder: string) => (await readdir(ROOT + folder)).map((name) => `${folder}/${name}`);

async function listSources(folder: string): Promise<string[]> {
  const names = await readdir(ROOT + folder, { recursive: true });
  return names.filter((name) => SOURCE.test(name) && !name.includes("node_modules")).map((name) => `${folder}/${name}`);
}

function resolvePath(from: string, importer: string, packages: readonly string[]): string {
  const [, name = "", path = ""] = /^@noisefloor\/([^/]+)\/(.+)$/.exec(from) ?? [];
  if (name === "") return normalize(join(dirname(importer), from));
  return `${packages.find((each) => each.endsWith(`/${name}`)) ?? name}/${path}`;
}

/** Whether each name in braces is marked as a type. */
const isOfTypes = (names: string) => /^\{\s*type [^,]*(?:,\s*type [^,]*)*,?\s*\}$/.test(names);
