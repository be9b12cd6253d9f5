import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { followWatchesFile } from "@noisefloor/cli/process/watches-file.ts";
import { applyWatchesFile, readWatchesFile } from "@noisefloor/query/watches/file.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { eventually } from "../../support/eventually.ts";
import { silent } from "../../support/worlds/http.ts";
import { makeWatch, writeWatches } from "../../support/worlds/watching-process.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

let world: World;
let key: string;
beforeAll(async () => {
  world = await createWorld(Date.now);
  key = await world.addCaller("unlimited", [], "soc");
});
afterAll(() => world.close());

const rules = () => ({
  ...world.watches,
  catalogue: world.catalogue,
  now: Date.now,
  retentionDays: () => 100,
  accessCache: world.accessCache,
});
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const FILE = `
workspace: soc
watches:
  - name: ours
    on: { type: network_seen, networks: [45.0.0.0/24] }
    deliver: [{ type: webhook, url: "https://soar.example.org/hook", secret: "${SECRET}" }]
  - name: silent
    on: { type: sensor_silent, after_minutes: 60 }
`;
const apply = (text: string) => applyWatchesFile(readWatchesFile(parse(text)), rules());
const ofFile = () => world.watches.cache.all().filter(({ origin }) => origin === "file");

test("the watches of a file are those that there are, each known by its name; others stay", async () => {
  await writeWatches(world, [makeWatch("soc", { type: "network_seen", networks: ["46.0.0.0/8"] }, { name: "ours" })]);
  expect(await apply(FILE)).toEqual({ made: 2, changed: 0, removed: 0, same: 0 });
  const before = ofFile();
  expect(before).toMatchObject([{ name: "ours", deliver: [{ secret: SECRET }] }, { name: "silent" }]);
  expect(await apply(FILE)).toEqual({ made: 0, changed: 0, removed: 0, same: 2 });
  const changed = FILE.replace("45.0.0.0/24", "45.0.1.0/24").replace(/ {2}- name: silent\n.*\n/, "");
  expect(await apply(changed)).toEqual({ made: 0, changed: 1, removed: 1, same: 0 });
  const [after, ...more] = ofFile();
  expect(more).toEqual([]);
  expect(after).toMatchObject({ id: before[0]?.id, createdAt: before[0]?.createdAt, deliver: before[0]?.deliver });
  expect(after?.sinceAt).toBeGreaterThan(before[0]?.sinceAt ?? 0);
  expect(world.watches.cache.all()).toHaveLength(2);
  const answer = await world.app.inject({ method: "DELETE", url: `/v3/watches/${after?.id}`, headers: { key } });
  expect([answer.statusCode, answer.json()]).toEqual([
    409,
    { message: "The watch is one of WATCHES_FILE: change it there" },
  ]);
});

test.each([
  ["[]", /the file is wrong: .*a list of which each has a "name"/],
  ["watches: [{ on: {} }]", /watches.0.name/],
  [FILE.replace("soc", "nobody"), /there is no workspace "nobody"/],
  [FILE.replace("name: silent", "name: ours"), /"ours": two watches have this name/],
  [FILE.replace("after_minutes: 60", "after_minutes: 1"), /"silent": on.after_minutes/],
  [FILE.replace(/, secret: "[^"]*"/, ""), /"ours": webhook takes secret/],
])("a wrong file changes nothing and says what is wrong: %#", async (text, reason) => {
  await apply(FILE);
  const before = ofFile();
  await expect((async () => apply(text))()).rejects.toThrow(reason);
  expect(ofFile()).toEqual(before);
});

test("the file is read at the start, and again when it changes or is right again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-watches-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "watches.yaml");
  await writeFile(path, FILE);
  const stop = followWatchesFile(path, rules(), silent, { everyMs: 50, firstMs: 0 });
  onTestFinished(stop);
  const names = () => ofFile().map(({ name }) => name);
  await eventually(async () => expect(names()).toEqual(["ours", "silent"]));
  await writeFile(path, "watches: [");
  await writeFile(path, FILE.replace("name: silent", "name: quiet"));
  await eventually(async () => expect(names()).toEqual(["ours", "quiet"]));
});
