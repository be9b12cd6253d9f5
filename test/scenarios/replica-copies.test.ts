import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runBackup } from "@noisefloor/cli/commands/backup/backup.ts";
import { runRestore } from "@noisefloor/cli/commands/backup/restore.ts";
import { runClusterRebalance } from "@noisefloor/cli/commands/cluster/rebalance.ts";
import { openPreparedStore } from "@noisefloor/cli/store/store.ts";
import { applyRetention, readRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { connectStore } from "@noisefloor/clickhouse-cluster/store.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mixedObservations } from "../support/builders/mixed-observations.ts";
import { networkList } from "../support/builders/network-list.ts";
import { type ClickHouseCluster, startCluster } from "../support/servers/cluster.ts";
import { commandOver } from "../support/worlds/commands.ts";
import { dropDatabase } from "../support/worlds/databases.ts";
import { expectSameOnReplicas } from "../support/worlds/replicas.ts";
import { contentOf, storeContents } from "../support/worlds/store-contents.ts";
import { createWorld, makeTag, type World } from "../support/worlds/world.ts";

// The limits below are long: beside all other tests a step over four servers takes many times as long as alone.
const NOW = Date.now();
const TAGS = [makeTag("worm", "malicious"), makeTag("crawler", "benign")];

let cluster: ClickHouseCluster;
let folder: string;
/** One shard and two, of two replicas each. */
let small: World;
let large: World;

beforeAll(async () => {
  cluster = await startCluster(2, { replicas: 2 });
  folder = await mkdtemp(join(tmpdir(), "noisefloor-replica-backups-"));
  [small, large] = [
    await createWorld(() => NOW, { server: cluster.smaller }),
    await createWorld(() => NOW, { server: cluster.connection }),
  ];
  for (const world of [small, large]) {
    await world.addTags(TAGS);
    await world.replaceNetworks("actor", [networkList("census", ["45.3.0.0/16"])]);
    await world.store(mixedObservations(NOW, 0, 300));
    await applyRetention(world.client, 120);
  }
}, 300_000);
afterAll(async () => {
  await small.close();
  await large.close();
  await cluster.stop();
  await rm(folder, { recursive: true, force: true });
});

const backUp = (name: string, of: World) => runBackup(join(folder, name), commandOver(of));
const restore = (name: string, into: Pick<World, "connection">) =>
  runRestore(join(folder, name), { replace: true }, commandOver(into));

test("one replica of each shard backs it up, and a restore gives every replica the rows again", async () => {
  const { backups: _, ...contents } = await storeContents(large.client);
  await backUp("all.tar.zst", large);
  expect((await readdir(folder)).sort()).toEqual(["all-shard1of2.tar.zst", "all-shard2of2.tar.zst"]);
  const other = await createWorld(() => NOW, { server: cluster.connection });
  try {
    await other.store(mixedObservations(NOW, 1_000, 30));
    await restore("all.tar.zst", other);
    expect(await storeContents(other.client)).toMatchObject(contents);
    await expectSameOnReplicas(other.client);
    for (const server of (await other.client.servers()).flat()) expect(await readRetention(server)).toBe(120);
    // Its views go on filling its rollups.
    await other.store(mixedObservations(NOW, 300, 20));
    await expectSameOnReplicas(other.client);
    await (await openPreparedStore(commandOver(other).settings)).close();
  } finally {
    await other.close();
  }
}, 300_000);

test("a single server and a shard of replicas have each other's backups", async () => {
  const single = await createWorld(() => NOW, { server: { ...cluster.smaller, cluster: undefined } });
  try {
    const { backups: _, ...contents } = await storeContents(small.client);
    await backUp("of-replicas", small);
    await restore("of-replicas", single);
    expect(await storeContents(single.client)).toMatchObject(contents);
    await backUp("of-single", single);
    await small.store(mixedObservations(NOW, 300, 20));
    await restore("of-single", small);
    expect(await storeContents(small.client)).toMatchObject(contents);
    await expectSameOnReplicas(small.client);
  } finally {
    await single.close();
  }
}, 300_000);

test("a store is spread over more shards of replicas", async () => {
  const target = { ...cluster.connection, database: `${small.connection.database}_grown` };
  const command = commandOver({ connection: target });
  const { cluster: fromCluster = "", database: fromDatabase } = small.connection;
  for (const finish of [false, true]) {
    await runClusterRebalance({ fromCluster, fromDatabase, finish, json: true }, command);
  }
  expect(command.lines.at(-1)).toContain('"is_finished":true');
  const grown = connectStore(target, "noisefloor-tests");
  try {
    expect(await storeContents(grown)).toEqual(await storeContents(small.client));
    await expectSameOnReplicas(grown);
    for (const server of (await grown.servers()).flat()) {
      expect((await contentOf(server, "observations")).rows).toBeGreaterThan(100);
    }
    await (await openPreparedStore(command.settings)).close();
  } finally {
    await dropDatabase(grown, target.database);
    await grown.close();
  }
}, 300_000);
