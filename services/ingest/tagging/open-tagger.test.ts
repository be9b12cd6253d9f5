import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type OpenTagger, openTagger, type TaggerOptions } from "./open-tagger.ts";

let root: string;
let tagger: OpenTagger | undefined;
let warnings: string[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "noisefloor-rules-"));
  await mkdir(join(root, "ours"));
  await mkdir(join(root, "own/web"), { recursive: true });
  warnings = [];
});
afterEach(async () => {
  tagger?.stop();
  tagger = undefined;
  await rm(root, { recursive: true, force: true });
});

const ruleText = (slug: string, path: string) => `
slug: ${slug}
name: ${slug}
category: activity
intention: unknown
description: A test.
match: {path: ${path}}
examples: [{path: ${path}}]
counterexamples: [{path: /other}]
`;

/** Written elsewhere and moved in, as an editor does: no poll sees half a file. */
async function write(file: string, text: string): Promise<void> {
  await writeFile(join(root, "next"), text);
  await rename(join(root, "next"), join(root, file));
}

const folder = (name: string) => ({ path: join(root, name), examples: "checked" }) as const;

async function open(options: Partial<TaggerOptions> = {}): Promise<OpenTagger> {
  const log = pino({ level: "warn" }, { write: (line: string) => void warnings.push(line) });
  tagger = await openTagger({ folders: [folder("ours"), folder("own")], pollMs: 20, log, ...options });
  return tagger;
}

const tagsOf = (path: string) => tagger?.tagsFor({ http: { path } });
const becomes = (path: string, slugs: readonly string[]) =>
  vi.waitFor(() => expect(tagsOf(path)).toEqual(slugs), 5_000);

test("a rule of the operator's folder replaces ours with the same slug; folders below it count as well", async () => {
  await write("ours/one.yaml", ruleText("one", "/ours"));
  await write("ours/two.yaml", ruleText("two", "/two"));
  await write("own/web/one.yaml", ruleText("one", "/own"));
  expect((await open()).rules()).toBe(2);
  expect([tagsOf("/ours"), tagsOf("/own"), tagsOf("/two")]).toEqual([[], ["one"], ["two"]]);
});

test("files that are added, changed and removed take effect without a restart", async () => {
  await open();
  await write("own/one.yaml", ruleText("one", "/first"));
  await becomes("/first", ["one"]);
  await write("own/one.yaml", ruleText("one", "/second"));
  await becomes("/second", ["one"]);
  expect(tagsOf("/first")).toEqual([]);
  await rm(join(root, "own/one.yaml"));
  await becomes("/second", []);
});

test("a file that is broken by a change keeps its rules, the log names it once, and other files still change", async () => {
  await write("own/one.yaml", ruleText("one", "/one"));
  await open();
  await write("own/one.yaml", ruleText("one", "''"));
  await write("own/two.yaml", ruleText("two", "/two"));
  await becomes("/two", ["two"]);
  expect(tagsOf("/one")).toEqual(["one"]);
  await write("own/three.yaml", ruleText("three", "/three"));
  await becomes("/three", ["three"]);
  expect(warnings).toEqual([expect.stringMatching(/one\.yaml.*path: has an empty value.*stay as they were/)]);
  await write("own/one.yaml", ruleText("one", "/again"));
  await becomes("/again", ["one"]);
});

test("a folder that cannot be read for a while keeps its rules", async () => {
  await write("own/one.yaml", ruleText("one", "/one"));
  await open();
  await rename(join(root, "own"), join(root, "away"));
  await vi.waitFor(() => expect(warnings).toHaveLength(1), 5_000);
  expect(tagsOf("/one")).toEqual(["one"]);
  await rename(join(root, "away"), join(root, "own"));
  await write("own/two.yaml", ruleText("two", "/two"));
  await becomes("/two", ["two"]);
});

test("at the start, errors name the files and what to do", async () => {
  await write("own/one.yaml", ruleText("one", "''"));
  await write("own/web/two.yaml", ruleText("three", "/x"));
  const failure = await open().catch((error: unknown) => String(error));
  expect(failure).toMatch(/own\/one\.yaml: path: has an empty value/);
  expect(failure).toMatch(/own\/web\/two\.yaml: slug: is "three"/);
  expect(failure).toContain('correct these files or move them away; "noisefloor tags lint" lists every error');
});

test("a slug in two files of a folder is an error, and so is a folder that there is not", async () => {
  await write("own/one.yaml", ruleText("one", "/a"));
  await write("own/web/one.yaml", ruleText("one", "/b"));
  await expect(open()).rejects.toThrow(/web\/one\.yaml: slug: "one" stands in .*own\/one\.yaml already/);
  await expect(open({ folders: [folder("none")] })).rejects.toThrow(/look at TAG_RULES_DIR/);
});

test("rules are used once their tags are in the catalogue: until then those before stay", async () => {
  let isAway = false;
  const seen: string[][] = [];
  await open({
    async onTags(tagsByFolder) {
      if (isAway) throw new Error("the store is away");
      seen.push(tagsByFolder.flat().map(({ entry }) => entry.slug));
    },
  });
  isAway = true;
  await write("own/one.yaml", ruleText("one", "/one"));
  await vi.waitFor(() => expect(warnings).toHaveLength(1), 5_000);
  expect(tagsOf("/one")).toEqual([]);
  isAway = false;
  await becomes("/one", ["one"]);
  expect(seen).toEqual([[], ["one"]]);
});
