import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const LIBS = fileURLToPath(new URL("../../libs", import.meta.url));
/** Static and dynamic imports of a file beside or above, those of types included. */
const RELATIVE_IMPORT = /\b(?:from|import)[\s(]+"(\.{1,2}\/[^"]+)"/g;
/** The folder of the files that lie in none. */
const ROOT = ".";

function folderOf(path: string): string {
  const [folder = ROOT, ...rest] = path.split(sep);
  return rest.length > 0 ? folder : ROOT;
}

/** For each folder of a library, those that its files import from. */
async function importsBetweenFolders(library: string): Promise<Map<string, Set<string>>> {
  const root = join(LIBS, library);
  const imports = new Map<string, Set<string>>();
  for (const file of await readdir(root, { recursive: true })) {
    if (!/(?<!\.test)\.ts$/.test(file) || file.includes("node_modules")) continue;
    const folder = folderOf(file);
    const imported = imports.get(folder) ?? new Set();
    imports.set(folder, imported);
    for (const [, path = ""] of (await readFile(join(root, file), "utf8")).matchAll(RELATIVE_IMPORT)) {
      const target = folderOf(relative(root, join(root, dirname(file), path)));
      if (target !== folder) imported.add(target);
    }
  }
  return imports;
}

/** The folders that remain when those that import no other, or that no other imports, are taken away again and again. */
function foldersInCircles(imports: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  let left = [...imports.keys()];
  for (let before = Number.POSITIVE_INFINITY; left.length < before; ) {
    before = left.length;
    left = left.filter(
      (folder) =>
        left.some((other) => imports.get(folder)?.has(other)) && left.some((other) => imports.get(other)?.has(folder)),
    );
  }
  return left;
}

const libraries = await readdir(LIBS);

test.each(libraries)("the folders of libs/%s import each other in one direction, types included", async (library) => {
  expect(foldersInCircles(await importsBetweenFolders(library))).toEqual([]);
});
