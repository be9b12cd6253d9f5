import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runBackup } from "@noisefloor/cli/commands/backup/backup.ts";
import { runRestore } from "@noisefloor/cli/commands/backup/restore.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { applyRetention, readRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { testInFull } from "../../support/test-in-full.ts";
import { atVolume } from "../../support/volume.ts";
import {
  type BackupServer,
  backUpWorld,
  contentsOf,
  readScratchDatabases,
  restoreWorld,
  startBackupServer,
} from "../../support/worlds/backups.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const now = () => NOW;
const DAY_MS = 86_400_000;
const tag = makeTag("known", "malicious");

let server: BackupServer;
let world: World;
/** Another store on the same server, into which backups are restored. */
let other: World;
let key: string;

beforeAll(async () => {
  server = await startBackupServer();
});
afterAll(async () => {
  await server.close();
});
beforeEach(async () => {
  world = await createWorld(now, { server: server.connection });
  other = await createWorld(now, { server: server.connection });
  await world.addTags([tag]);
  key = await world.addCaller("unlimited", ["community_dataset"], "team-a");
  const scopes = [{}, { dataset: "community" }, { dataset: "personal", workspace_id: "team-a" }];
  await world.store(
    Array.from({ length: 60 }, (_, index) => ({
      observed_at: new Date(NOW - (index % 10) * DAY_MS - 60_000).toISOString(),
      sensor_id: "s",
      source_ip: `45.0.0.${index % 40}`,
      tags: index === 7 ? ["never-heard-of"] : ["known"],
      ...scopes[index % 3],
    })),
  );
  const network = { first: 0x09090900, length: 24 };
  const about = { category: "dns", description: "d", explanation: "e", reference: "r", trustLevel: "1", priority: 0 };
  await world.replaceNetworks("service", [{ listId: "l", name: "R", ...about, networks: [network] }]);
});
afterEach(async () => {
  await world.close();
  await other.close();
});

const backUp = (of: World, name: string) => backUpWorld(of, server.place(name));
const restore = (into: World, name: string, replace = true) => restoreWorld(into, server.place(name), replace);

async function answers(of: World): Promise<unknown[]> {
  const paths = [
    `/v3/tags/${tag.id}/activity?days=30&granularity=24h&include_ips=true&workspace_labels=global,community,personal`,
    `/v3/tags/${tag.id}/activity?days=7&granularity=1h`,
    "/v3/tags",
    "/v3/community/9.9.9.9",
    ...[0, 7, 13].flatMap((last) => [`/v3/community/45.0.0.${last}`, `/v3/ip/45.0.0.${last}`]),
    "/v3/noise/ips/45.0.0.3/timeline?days=30&field=tags",
  ];
  return Promise.all(paths.map(async (path) => ({ path, ...(await of.get(path, { key })) })));
}

const schema = defineQuery({
  name: "test-schema",
  sql: "SELECT name, replaceAll(create_table_query, currentDatabase(), 'db') AS sql FROM system.tables WHERE database = currentDatabase() ORDER BY name",
  params: z.object({}),
  row: z.object({ name: z.string(), sql: z.string() }),
});

// A cluster restores from an archive on every commit.
test.each(atVolume(["whole"], ["whole", "whole.tar.zst"]))(
  "a store restored from the backup %s gives every answer that it gave",
  async (name) => {
    await applyRetention(world.client, 60);
    const before = { answers: await answers(world), contents: await contentsOf(world) };
    expect(await backUp(world, name)).toMatch(/^Backed up .* KiB to /);
    expect(await restore(other, name)).toMatch(/^Restored \d+ observations from .* to .*, kept for 60 days\.$/m);
    await other.refresh();
    expect(await answers(other)).toEqual(before.answers);
    expect(await contentsOf(other)).toEqual(before.contents);
    expect(await run(other.client, schema, {})).toEqual(await run(world.client, schema, {}));
    expect(await readRetention(other.client)).toBe(60);
    expect(await readScratchDatabases(other), "nothing is left behind").toEqual([]);

    const later = {
      observed_at: new Date(NOW - 1_000).toISOString(),
      sensor_id: "s",
      source_ip: "45.0.9.9",
      tags: ["known"],
    };
    await other.store([later]);
    expect((await other.get("/v3/community/45.0.9.9", { key })).status, "the views go on").toBe(200);
  },
);

const rollupRows = defineQuery({
  name: "test-rollup-rows",
  sql: `SELECT (SELECT count() FROM tag_activity_hourly WHERE hour < now() - INTERVAL 30 DAY) AS activity,
    (SELECT count() FROM tag_addresses WHERE start < now() - INTERVAL 30 DAY) AS addresses`,
  params: z.object({}),
  row: z.object({ activity: z.int(), addresses: z.int() }),
});

testInFull("a restore rebuilds the rollups from the observations, whatever the store held before", async () => {
  const old = Array.from({ length: 50 }, (_, index) => ({
    observation_id: `old-${index}`,
    observed_at: new Date(NOW - 40 * DAY_MS).toISOString().replace("T", " ").replace("Z", ""),
    received_at: new Date(NOW - DAY_MS).toISOString().replace("T", " ").replace("Z", ""),
    dataset: "global",
    source_ip: `45.1.0.${index}`,
    tags: [tag.id],
  }));
  await world.client.insert({ table: "observations", values: old, format: "JSONEachRow" });
  const [before] = await run(world.client, rollupRows, {});
  const seen = await answers(world);
  await world.client.command({ query: "DELETE FROM tag_activity_hourly WHERE hour > now() - INTERVAL 1 DAY" });
  await world.client.command({ query: "DELETE FROM tag_addresses WHERE start > now() - INTERVAL 4 DAY" });
  expect(await answers(world)).not.toEqual(seen);
  await backUp(world, "moment");
  await restore(other, "moment");
  expect(await run(other.client, rollupRows, {})).toEqual([before]);
  await other.refresh();
  expect(await answers(other)).toEqual(seen);
});

test("a store that holds data is not changed without --replace", async () => {
  await backUp(world, "rejected");
  const before = await contentsOf(other);
  await expect(restore(other, "rejected", false)).rejects.toThrow(
    /is not empty: .* credentials \(1\), .*Use --replace to overwrite it/,
  );
  await expect(restore(world, "rejected", false)).rejects.toThrow(
    /already holds [\d,]+ rows of observations\. Use --replace to overwrite it/,
  );
  expect(await contentsOf(other)).toEqual(before);
});

async function largestFile(name: string): Promise<string> {
  const files = (await readdir(server.place(name), { recursive: true })).filter((file) =>
    /observations\/.*\.bin$/.test(file),
  );
  const sizes = await Promise.all(
    files.map(async (file) => ({ file, size: (await stat(server.place(join(name, file)))).size })),
  );
  return server.place(join(name, sizes.sort((one, another) => another.size - one.size)[0]?.file ?? ""));
}

type Damage = [string, (name: string) => Promise<void>, RegExp];

test.each<Damage>([
  [
    "rotten",
    async (name) => rot(await largestFile(name)),
    /the backup is damaged: the part \S+ of observations is incomplete/,
  ],
  ...atVolume<Damage[]>(
    [],
    [
      ["missing", (name) => rm(server.place(name), { recursive: true }), /there is no backup there/],
      ["incomplete", async (name) => rm(await largestFile(name)), /^the backup cannot be restored: .*No such file/],
      [
        "without its manifest",
        (name) => writeFile(server.place(join(name, ".backup")), "<config>"),
        /^the backup cannot be restored: /,
      ],
    ],
  ),
])("a backup that is %s is an error that leaves the store as it was", async (name, damage, message) => {
  await other.addTags([makeTag("mine", "benign")]);
  await other.store([
    { observed_at: new Date(NOW).toISOString(), sensor_id: "s", source_ip: "45.9.9.9", tags: ["mine"] },
  ]);
  const before = [await contentsOf(other), await run(other.client, schema, {})];
  await backUp(world, name);
  await damage(name);
  const failure = await restore(other, name).catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: "BackupError", message: expect.stringMatching(message) });
  expect(String(failure)).not.toContain("Stack trace");
  expect([await contentsOf(other), await run(other.client, schema, {})]).toEqual(before);
  expect(await readScratchDatabases(other)).toEqual([]);
});

async function rot(file: string): Promise<void> {
  const bytes = await readFile(file);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 0xff;
  await writeFile(file, bytes);
}

test("a backup of a newer version, or without Noisefloor's tables, is rejected", async () => {
  const newer = { version: 9_000, name: "future", checksum: "", applied_at: "2026-01-01 00:00:00" };
  await world.client.insert({ table: "schema_migrations", values: [newer], format: "JSONEachRow" });
  await backUp(world, "newer");
  const before = await contentsOf(other);
  await expect(restore(other, "newer")).rejects.toThrow(/does not fit this version of Noisefloor: .*9000_future/);
  const [database, foreign] = [world.connection.database, server.place("foreign")];
  await world.client.command({ query: `BACKUP TABLE ${database}.tags AS noisefloor.tags TO File('${foreign}')` });
  await expect(restore(other, "foreign")).rejects.toThrow(/the backup has no tables of Noisefloor/);
  await world.client.command({ query: "DELETE FROM schema_migrations WHERE name = 'future'" });
  await world.client.command({ query: "DROP TABLE observations SYNC" });
  await backUp(world, "lacking");
  await expect(restore(other, "lacking")).rejects.toThrow(/^the backup cannot be restored: .*observations.* not found/);
  await world.client.command({ query: "DROP TABLE schema_migrations SYNC" });
  await expect(backUp(world, "nothing")).rejects.toThrow(/has no tables of Noisefloor/);
  expect(await contentsOf(other)).toEqual(before);
});

testInFull("an earlier version's backup is brought up to date", async () => {
  // As in a backup from before the migration that created these tables.
  for (const table of ["dead_letters", "dead_letter_retries"]) {
    await world.client.command({ query: `DROP TABLE ${table} SYNC` });
  }
  await world.client.command({ query: "DELETE FROM schema_migrations WHERE name = 'dead_letters'" });
  await backUp(world, "earlier");
  await restore(other, "earlier");
  await other.refresh();
  expect(await answers(other)).toEqual(await answers(world));
});

test.each(["private", "private.tar.zst"])(
  "no other user of the machine can read anything of the backup %s",
  async (name) => {
    await backUp(world, name);
    const path = server.place(name);
    const isFolder = (await stat(path)).isDirectory();
    const entries = isFolder ? await readdir(path, { recursive: true }) : [];
    if (isFolder) expect(entries.length).toBeGreaterThan(20);
    for (const entry of [path, ...entries.map((each) => join(path, each))]) {
      const found = await stat(entry);
      expect([entry, found.mode & 0o777]).toEqual([entry, found.isDirectory() ? 0o700 : 0o600]);
    }
  },
);

test("a backup is never overwritten, and Ctrl-C cancels it", async () => {
  await backUp(world, "once");
  await expect(backUp(world, "once")).rejects.toThrow(
    /a backup already exists there, and backups are never overwritten/,
  );
  const stop = new AbortController();
  stop.abort();
  const command = commandOver(world, undefined, stop.signal);
  await runBackup(server.place("cancelled"), command);
  expect(command.lines.join()).toMatch(/^The backup was cancelled; nothing of it is left\.$|^Backed up /);
  const again = commandOver(other, undefined, stop.signal);
  await runRestore(server.place("once"), { replace: true }, again);
  await runRestore(server.place("once"), { replace: true, json: true }, again);
  expect(again.lines).toEqual(["The restore was cancelled; the database is as it was.", '{"is_complete":false}']);
  process.exitCode = undefined;
});
