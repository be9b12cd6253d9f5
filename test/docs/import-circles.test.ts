import { expect, test } from "vitest";
import { readImports } from "./imports.ts";

/** The files that lie in no folder of their library or service. */
const OUTSIDE = ".";

const imports = await readImports();
const files = [...imports.keys()];
const foldersOf = (path: string) => path.split("/").slice(0, -1);
const everyFolder = [
  ...new Set(
    files.flatMap((path) =>
      foldersOf(path).map((_name, depth) =>
        path
          .split("/")
          .slice(0, depth + 1)
          .join("/"),
      ),
    ),
  ),
];
const [packages, inner] = [
  everyFolder.filter((folder) => folder.split("/").length === 2),
  everyFolder.filter((folder) => folder.split("/").length > 2),
];

/**
 * For each part of a folder, those that its files import.
 * @param partOf the part of a file in the folder, by its path from there.
 */
function importsBetweenParts(folder: string, partOf: (path: string) => string): Map<string, Set<string>> {
  const parts = new Map<string, Set<string>>();
  const isInside = (file: string) => file.startsWith(`${folder}/`);
  const partOfFile = (file: string) => partOf(file.slice(folder.length + 1));
  for (const file of files.filter(isInside)) {
    const part = partOfFile(file);
    const imported = parts.get(part) ?? new Set();
    parts.set(part, imported);
    for (const each of imports.get(file) ?? []) {
      if (isInside(each.file) && partOfFile(each.file) !== part) imported.add(partOfFile(each.file));
    }
  }
  return parts;
}

/** The parts that remain when those that import no other, or that no other imports, are taken away again and again. */
function partsInCircles(parts: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  let left = [...parts.keys()];
  for (let before = Number.POSITIVE_INFINITY; left.length < before; ) {
    before = left.length;
    left = left.filter(
      (part) => left.some((other) => parts.get(part)?.has(other)) && left.some((other) => parts.get(other)?.has(part)),
    );
  }
  return left;
}

test.each(packages)("the folders of %s import each other in one direction, types included", (folder) => {
  const circles = partsInCircles(importsBetweenParts(folder, (path) => path.match(/^[^/]+(?=\/)/)?.[0] ?? OUTSIDE));
  expect(circles).toEqual([]);
});

test("within a folder, its files and the folders in it import each other in one direction", () => {
  const circles = inner.map((folder) => [folder, ...partsInCircles(importsBetweenParts(folder, firstName))]);
  expect(circles.filter(([, ...parts]) => parts.length > 0)).toEqual([]);
});

const firstName = (path: string) => path.split("/", 1).join("");
