import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runTagsImport, runTagsList, runTagsRemove } from "@noisefloor/cli/commands/tags/catalogue.ts";
import { importTags } from "@noisefloor/cli/tags/import-tags.ts";
import { addTagsOfFiles } from "@noisefloor/cli/tags/starter-tags.ts";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { runCommand } from "../../support/commands/run-command.ts";
import { eventually } from "../../support/eventually.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
let world: World;
beforeEach(async () => {
  world = await createWorld(() => NOW, { pollIntervalMs: 1_000 });
});
afterEach(() => world.close());

const seen = (ip: string, tags: readonly string[] = []) => observation(ip, NOW - 2 * 86_400_000, { tags });

test("an import reports replaced starter tags and fails if no tag is accepted, and tags are removed by name", async () => {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-tags-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const bring = async (tags: readonly object[]) => {
    await writeFile(join(folder, "tags.json"), JSON.stringify({ tags }));
    return runCommand(world, (command) => runTagsImport(join(folder, "tags.json"), command));
  };
  await addTagsOfFiles(world.client, { tagRulesDirectory: undefined }, NOW);
  const own = { slug: "telnet-scanner", name: "Ours" };
  const other = { id: "5f0f2e6a-9c1b-4b7a-8d53-1c2d3e4f5a6b", slug: "mirai", name: "Theirs" };
  const { output, failure } = await bring([own, other, { slug: "new-one", name: "New" }]);
  expect({ output, failure }).toEqual({
    failure: "",
    output: [
      "replaced telnet-scanner: it was a tag of the starter catalogue",
      "replaced mirai: it was a tag of the starter catalogue",
      "added     1\nchanged   0\nreplaced  2\nunchanged 0\nrejected  0",
    ].join("\n"),
  });
  expect((await bring([{ ...own, name: "Again" }])).output).toContain("changed   1\nreplaced  0\n");
  expect((await bring([{ slug: "Bad Slug", name: "x" }])).failure).toMatch(/: every tag was rejected$/);
  expect((await bring([])).failure).toMatch(/: it holds no tag$/);

  await world.catalogue.refresh();
  await world.store([seen("45.0.0.1", ["new-one"])]);
  const remove = (tags: string[], yes = false) => runCommand(world, (command) => runTagsRemove(tags, { yes }, command));
  expect((await remove(["ssh-scanner"])).failure).toContain("tags of the starter catalogue cannot be removed");
  expect((await remove(["nothing"])).failure).toBe('there is no tag "nothing": see "noisefloor tags list"');
  expect((await remove(["new-one"])).failure).toMatch(/^Observations carry new-one: .* pass --yes/);
  expect(await remove(["new-one", other.id], true)).toEqual({ failure: "", output: "removed   2" });
  const listed = await runCommand(world, (command) => runTagsList({ json: true }, command));
  const slugs = z.array(z.object({ slug: z.string() })).parse(JSON.parse(listed.output));
  expect(slugs.map(({ slug }) => slug)).toEqual(expect.not.arrayContaining(["new-one", "mirai"]));
});

test("a running service shows imported tags within five seconds, and importing them again changes nothing", async () => {
  const tags = [makeTag("fresh", "malicious", { name: "Fresh Worm", cves: ["CVE-2026-0001"], related: [] })];
  expect(await importTags(world.client, tags, NOW)).toMatchObject({ added: 1, changed: 0, unchanged: 0, rejected: [] });
  const shown = await eventually(async () => {
    const { body } = await world.get("/v3/tags?slug=fresh");
    expect(body).toMatchObject({ tags: [{ name: "Fresh Worm" }] });
    return body;
  }, 5_000);
  expect(await importTags(world.client, tags, NOW + 1)).toMatchObject({ added: 0, changed: 0, unchanged: 1 });
  const renamed = tags.map((tag) => ({ ...tag, name: "Old Worm" }));
  expect(await importTags(world.client, renamed, NOW + 2)).toMatchObject({ added: 0, changed: 1, unchanged: 0 });
  await eventually(async () => expect((await world.get("/v3/tags?slug=fresh")).body).not.toEqual(shown), 5_000);
});

test("an import changes a tag even if the clock of the importing machine is behind", async () => {
  const tag = makeTag("slow-clock", "unknown");
  await world.addTags([tag, makeTag("other", "unknown")]);
  const changed = { ...tag, intention: "malicious" as const };
  expect(await importTags(world.client, [changed], NOW - 86_400_000)).toMatchObject({ changed: 1 });
  await eventually(async () => {
    const { body } = await world.get("/v3/tags?slug=slow-clock");
    expect(body).toMatchObject({ tags: [{ intention: "malicious" }] });
  }, 5_000);
});

test("an imported tag takes the slug of a starter tag, unless observations already carry the starter tag", async () => {
  await addTagsOfFiles(world.client, { tagRulesDirectory: undefined }, NOW);
  await world.catalogue.refresh();
  await world.store([seen("45.0.0.1", ["ssh-scanner"])]);
  const result = await importTags(world.client, [makeTag("mirai", "malicious"), makeTag("ssh-scanner", "benign")], NOW);
  expect(result).toMatchObject({ added: 0, replaced: ["mirai"], rejected: [{ entry: "ssh-scanner" }] });
  expect(
    await addTagsOfFiles(world.client, { tagRulesDirectory: undefined }, NOW + 1),
    "a taken slug is not taken back",
  ).toBe(0);
});

test("the tag list is filtered by part of the name, slug and CVE together, and shows relations", async () => {
  const worm = makeTag("worm", "malicious", { name: "Great Worm", cves: ["CVE-2026-0001"] });
  const scan = makeTag("scan", "unknown", {
    name: "Worm Hunter",
    related: [worm.id, "00000000-0000-4000-8000-000000000000"],
  });
  await world.addTags([worm, scan]);
  const slugs = async (query: string) =>
    z
      .object({ tags: z.array(z.object({ slug: z.string() })) })
      .parse((await world.get(`/v3/tags?${query}`)).body)
      .tags.map(({ slug }) => slug);
  expect(await slugs("")).toEqual(["scan", "worm"]);
  expect(await slugs("name=WORM")).toEqual(["scan", "worm"]);
  expect(await slugs("name=worm&slug=scan")).toEqual(["scan"]);
  expect(await slugs("cve=cve-2026-0001")).toEqual(["worm"]);
  expect(await slugs("cve=CVE-2026-0001&slug=scan")).toEqual([]);
  expect((await world.get("/v3/tags?slug=scan")).body).toEqual({
    tags: [
      {
        id: scan.id,
        label: "SCAN",
        slug: "scan",
        name: "Worm Hunter",
        category: "activity",
        intention: "unknown",
        description: "",
        references: [],
        recommend_block: false,
        cves: [],
        created_at: "2026-01-01",
        related_tags: [{ id: worm.id, name: "Great Worm", intention: "malicious", category: "activity", slug: "worm" }],
      },
    ],
  });
});
