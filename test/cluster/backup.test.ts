import { mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runBackup } from "@noisefloor/cli/commands/backup/backup.ts";
import { runRestore } from "@noisefloor/cli/commands/backup/restore.ts";
import { openPreparedStore } from "@noisefloor/cli/store/store.ts";
import { readLastBackup } from "@noisefloor/clickhouse/backup/made-backups.ts";
import { putMarker } from "@noisefloor/clickhouse/schema/unfinished-marker.ts";
import { applyRetention, DEFAULT_RETENTION_DAYS, readRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { mixedObservations } from "../support/builders/mixed-observations.ts";
import { networkList } from "../support/builders/network-list.ts";
import { type ClickHouseCluster, startCluster } from "../support/servers/cluster.ts";
import { testInFull } from "../support/test-in-full.ts";
import { commandOver } from "../support/worlds/commands.ts";
import { contentOf, storeContents } from "../support/worlds/store-contents.ts";
import { createWorld, makeTag, type World } from "../support/worlds/world.ts";

const NOW = Date.now();
const TAGS = [makeTag("worm", "malicious"), makeTag("crawler", "benign")];

let cluster: ClickHouseCluster;
let folder: string;
let world: World;
/** Another store on the same shards, into which backups are restored. */
let other: World;

beforeAll(async () => {
  cluster = await startCluster(2);
  folder = await mkdtemp(join(tmpdir(), "noisefloor-backups-"));
  world = await createWorld(() => NOW, { server: cluster.connection });
  await world.addTags(TAGS);
  await world.replaceNetworks("actor", [networkList("census", ["45.3.0.0/16"])]);
  await world.store(mixedObservations(NOW, 0, 600));
}, 60_000);
afterAll(async () => {
  await world.close();
  await cluster.stop();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  other = await createWorld(() => NOW, { server: cluster.connection });
});
afterEach(() => other.close());

async function backUp(name: string): Promise<string> {
  const command = commandOver(world);
  await runBackup(join(folder, name), command);
  return command.lines.join("\n");
}

async function restore(name: string, options: { replace?: boolean; server?: typeof other.connection } = {}) {
  const { replace = true, server = other.connection } = options;
  const command = commandOver({ connection: server });
  await runRestore(join(folder, name), { replace }, command);
  return command.lines.join("\n");
}

/** As services and commands open a store. */
async function assertOpens(of: World): Promise<void> {
  const { close } = await openPreparedStore(commandOver(of).settings);
  await close();
}

const QUESTIONS = [
  `/v3/tags/${TAGS[0]?.id}/activity?days=30&granularity=24h&include_ips=true`,
  "/v3/stats/hours?days=30",
  "/v3/community/45.1.7.13",
];
const answersOf = (of: World) => Promise.all(QUESTIONS.map(async (path) => (await of.get(path)).body));

test("each shard backs up its own rows, and a restore makes one store of them again", async () => {
  const [contents, answers] = [await storeContents(world.client), await answersOf(world)];
  expect(await backUp("all.tar.zst")).toMatch(
    /^Backed up \S+ \S+ to \S+all-shard1of2\.tar\.zst and \S+all-shard2of2\.tar\.zst\.$/,
  );
  expect((await readdir(folder)).sort()).toEqual(["all-shard1of2.tar.zst", "all-shard2of2.tar.zst"]);
  expect(await readLastBackup(world.client)).toMatchObject({ place: join(folder, "all.tar.zst") });

  const stored = contents.observations?.rows;
  expect(await restore("all.tar.zst")).toMatch(new RegExp(`^Restored ${stored} observations from 20`));
  // The backup was recorded after it was made.
  expect(await storeContents(other.client)).toEqual({ ...contents, backups: { rows: 0, digest: "0" } });
  await other.refresh();
  const key = await other.addCaller("unlimited", ["community_dataset"]);
  const restored = await Promise.all(QUESTIONS.map(async (path) => (await other.get(path, { key })).body));
  expect(restored).toEqual(answers);
  for (const server of (await other.client.servers()).flat()) {
    expect((await contentOf(server, "observations")).rows).toBeGreaterThan(100);
    expect((await contentOf(server, "tags")).rows).toBe(TAGS.length);
  }
  // Its views go on filling its rollups, on each shard.
  await other.store(mixedObservations(NOW, 600, 20));
  await assertOpens(other);
}, 60_000);

testInFull(
  "every server has the same tags and retention after a restore, also when they changed between the shards' backups",
  async () => {
    const changed = await createWorld(() => NOW, { server: cluster.connection });
    try {
      await changed.addTags(TAGS);
      // As if it had reached the second server just after that was copied.
      const [first] = (await changed.client.servers()).flat();
      if (first === undefined) throw new RangeError("there is no server");
      await tagRecords.write(first, [makeTag("later", "suspicious")], Date.now());
      await applyRetention(first, 60);
      await runBackup(join(folder, "between"), commandOver(changed));
    } finally {
      await changed.close();
    }
    await restore("between");
    const tags = await Promise.all((await other.client.servers()).flat().map((server) => contentOf(server, "tags")));
    expect(tags.map(({ rows }) => rows)).toEqual([3, 3]);
    const kept = await Promise.all((await other.client.servers()).flat().map(readRetention));
    expect(kept).toEqual([DEFAULT_RETENTION_DAYS, DEFAULT_RETENTION_DAYS]);
  },
);

test("a backup with a part missing, damaged or in another's place leaves every shard as it was", async () => {
  await backUp("parts");
  const before = await storeContents(other.client);
  const [one, two, aside] = ["parts-shard1of2", "parts-shard2of2", "aside"].map((name) => join(folder, name));
  if (one === undefined || two === undefined || aside === undefined) throw new Error("no names");
  await rename(two, aside);
  await expect(restore("parts")).rejects.toThrow(/^shard 2 of 2, 127\.0\.0\.3:\d+: there is no backup there: /);
  await rename(one, two);
  await rename(aside, one);
  await expect(restore("parts")).rejects.toThrow(/^the backup has \d+ addresses on another shard than the cluster's/);
  expect(await storeContents(other.client)).toEqual(before);
  // A cluster of fewer shards looks for parts of another name.
  const smaller = { ...cluster.smaller, database: other.connection.database };
  await expect(restore("parts", { server: smaller })).rejects.toThrow(/there is no backup there/);
  expect(await storeContents(other.client)).toEqual(before);
});

testInFull("a restore replaces data only with --replace, or after one that was interrupted on any shard", async () => {
  await backUp("again");
  await other.store(mixedObservations(NOW, 0, 40));
  await expect(restore("again", { replace: false })).rejects.toThrow(/already holds \d+ rows of observations/);
  const [, second] = (await other.client.servers()).flat();
  if (second !== undefined) await putMarker(second, "restore");
  await restore("again", { replace: false });
  expect((await storeContents(other.client)).observations).toEqual((await storeContents(world.client)).observations);
  await assertOpens(other);
});

testInFull("a single server and a cluster of one shard have each other's backups", async () => {
  const small = await createWorld(() => NOW, { server: cluster.smaller });
  const single = await createWorld(() => NOW, { server: { ...cluster.smaller, cluster: undefined } });
  try {
    await small.addTags(TAGS);
    await small.store(mixedObservations(NOW, 0, 50));
    const { backups: _, ...contents } = await storeContents(small.client);
    await runBackup(join(folder, "of-cluster"), commandOver(small));
    await restore("of-cluster", { server: single.connection });
    expect(await storeContents(single.client)).toMatchObject(contents);
    await runBackup(join(folder, "of-single"), commandOver(single));
    await small.store(mixedObservations(NOW, 50, 50));
    await restore("of-single", { server: small.connection });
    expect(await storeContents(small.client)).toMatchObject(contents);
  } finally {
    await single.close();
    await small.close();
  }
});

test("a backup that fails on one shard says of which", async () => {
  await backUp("once");
  await rename(join(folder, "once-shard1of2"), join(folder, "kept"));
  await expect(backUp("once")).rejects.toThrow(/shard 2 of 2, \S+: a backup already exists there/);
  expect(await readdir(folder)).toContain("once-shard2of2");
});
