import { expect, test } from "vitest";
import { readImports } from "./imports.ts";

/**
 * How many source files of the repository a file may load, itself included: what a reader must read to know all
 * that it does. Imports of types alone do not count: a signature is read without its file.
 */
const MOST_LOADED = {
  "services/ingest/pipeline/pipeline.ts": 32,
  "services/query/search/route.ts": 53,
  "services/query/stats/route.ts": 39,
};

const imports = await readImports();

function filesLoadedBy(start: string): string[] {
  const loaded = new Set([start]);
  for (const file of loaded) {
    for (const each of imports.get(file) ?? []) if (!each.isOfTypes) loaded.add(each.file);
  }
  return [...loaded].sort();
}

test.each(Object.entries(MOST_LOADED))("%s loads at most %i files of the repository", (file, limit) => {
  const loaded = filesLoadedBy(file);
  expect(loaded.length, loaded.join("\n")).toBeLessThanOrEqual(limit);
});
