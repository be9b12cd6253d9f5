import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readFolder } from "./lint.ts";
import { openPrepared } from "./prepared.ts";
import { listRuleFiles } from "./read-folder.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "noisefloor-prepared-"));
});
afterAll(() => rm(folder, { recursive: true }));

const tag = (slug: string, intention: string) => ({
  slug,
  name: slug,
  category: "activity",
  intention,
  description: "A test.",
  match: { path: "/x" },
});

test("a file is used as the build has parsed it, until it changes", async () => {
  const file = join(folder, "one.yaml");
  await writeFile(file, JSON.stringify(tag("one", "unknown")));
  const [listed] = await listRuleFiles(folder);
  const prepared = join(folder, "prepared.json");
  // Another intention than the file's shows which of the two is read.
  const value = tag("one", "suspicious");
  await writeFile(prepared, JSON.stringify({ "one.yaml": { stamp: listed?.stamp, value } }));
  const intentions = async () => {
    const files = await readFolder({ path: folder, examples: "skipped", prepared: openPrepared(prepared, folder) });
    return files.flatMap(({ tags }) => tags.map(({ entry }) => entry.intention));
  };
  expect(await intentions()).toEqual(["suspicious"]);
  await utimes(file, new Date(), new Date(Date.now() + 5_000));
  expect(await intentions()).toEqual(["unknown"]);
});

test("without a build, files are read", () => {
  expect(openPrepared(join(folder, "nothing.json"), folder)).toBeUndefined();
});
