import { type RebalanceCommandOptions, runClusterRebalance } from "@noisefloor/cli/commands/cluster/rebalance.ts";
import { openPreparedStore } from "@noisefloor/cli/store/store.ts";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { removeObservations } from "@noisefloor/clickhouse/rollups/remove-observations.ts";
import { readRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { readShards } from "@noisefloor/clickhouse-cluster/client/servers.ts";
import { countMisplaced } from "@noisefloor/clickhouse-cluster/schema/placement.ts";
import { connectStore, migrateStore } from "@noisefloor/clickhouse-cluster/store.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { mixedObservations } from "../support/builders/mixed-observations.ts";
import { networkList } from "../support/builders/network-list.ts";
import { type ClickHouseCluster, startCluster } from "../support/servers/cluster.ts";
import { commandOver } from "../support/worlds/commands.ts";
import { dropDatabase, MIGRATIONS } from "../support/worlds/databases.ts";
import { contentOf, storeContents } from "../support/worlds/store-contents.ts";
import { createWorld, makeTag, type World } from "../support/worlds/world.ts";

const NOW = Date.now();
const TAGS = [makeTag("worm", "malicious"), makeTag("crawler", "benign")];

let cluster: ClickHouseCluster;
/** On two of the three shards. */
let world: World;
let target: ClickHouseConnection;

beforeAll(async () => {
  cluster = await startCluster(3);
  world = await createWorld(() => NOW, { server: cluster.smaller });
  target = { ...cluster.connection, database: `${world.connection.database}_grown` };
  await world.addTags(TAGS);
  await world.replaceNetworks("actor", [networkList("census", ["45.3.0.0/16"])]);
}, 60_000);
afterAll(async () => {
  await world.close();
  await cluster.stop();
});

const observations = (from: number, count: number) => mixedObservations(NOW, from, count);
const DAY_MS = 86_400_000;
/** Four months at least, each a partition. */
const HISTORY = [0, 25, 50, 75].flatMap((days, index) => mixedObservations(NOW - days * DAY_MS, index * 150, 150));

async function rebalance(options: Partial<RebalanceCommandOptions> = {}, signal?: AbortSignal) {
  const command = commandOver({ connection: target }, undefined, signal);
  const { cluster: fromCluster = "", database: fromDatabase } = world.connection;
  await runClusterRebalance({ fromCluster, fromDatabase, finish: false, json: true, ...options }, command);
  const { exitCode } = process;
  process.exitCode = undefined;
  const report = z.object({
    ...{ is_complete: z.boolean(), is_finished: z.boolean() },
    ...{ portions: z.int(), copied: z.int() },
  });
  return { ...report.parse(JSON.parse(command.lines.join(""))), exitCode };
}

const QUESTIONS = [
  `/v3/tags/${TAGS[0]?.id}/activity?days=30&granularity=24h&include_ips=true`,
  `/v3/tags/${TAGS[1]?.id}/activity?days=7&granularity=1h`,
  "/v3/stats/hours?days=30",
  "/v3/stats/countries?days=30",
  "/v3/community/45.1.7.13",
];
const answersOf = (of: World) => Promise.all(QUESTIONS.map(async (path) => (await of.get(path)).body));

test("a store is spread over another shard, exactly, while it is written to and answers", async () => {
  await world.store(HISTORY);
  const answers = await answersOf(world);

  // Cancelled after some portions, which the next run does not copy again.
  const stop = new AbortController();
  stop.abort();
  expect(await rebalance({}, stop.signal)).toMatchObject({ is_complete: false, copied: 0, exitCode: 130 });
  const first = await rebalance();
  expect(first).toMatchObject({ is_complete: true, is_finished: false, exitCode: undefined });
  expect(first.copied).toBeGreaterThan(10);
  expect(await rebalance()).toMatchObject({ copied: 0, portions: first.portions });
  expect(await answersOf(world)).toEqual(answers);

  // The copy has what came in since then, and lacks what was removed.
  await world.store(observations(600, 50));
  await removeObservations(world.client, { sensorPrefix: "sensor-2" });
  await world.addTags([makeTag("later", "suspicious")]);
  const half = new AbortController();
  const { settings } = commandOver({ connection: target });
  await expect(openPreparedStore(settings)).rejects.toThrow(/is a copy that is not complete: stop the intake and run/);
  await expect(migrateStore(target, MIGRATIONS)).rejects.toThrow(/is a copy that is not complete/);
  half.abort();
  expect(await rebalance({ finish: true }, half.signal)).toMatchObject({ is_complete: false, is_finished: false });
  await expect(openPreparedStore(settings)).rejects.toThrow(/is a copy that is not complete/);
  expect(await rebalance({ finish: true })).toMatchObject({ is_complete: true, is_finished: true });

  const grown = connectStore(target, "noisefloor-tests");
  try {
    expect(await storeContents(grown)).toEqual(await storeContents(world.client));
    expect(await readRetention(grown)).toBe(await readRetention(world.client));
    const shards = await readShards(grown, cluster.connection.cluster ?? "");
    for (const [index, server] of (await grown.servers()).flat().entries()) {
      expect(await countMisplaced(server, shards, index)).toBe(0);
      expect((await contentOf(server, "observations")).rows, `shard ${index + 1}`).toBeGreaterThan(50);
      expect((await contentOf(server, "tags")).rows).toBe(TAGS.length + 1);
    }
    const { close } = await openPreparedStore(settings);
    await close();
  } finally {
    await dropDatabase(grown, target.database);
    await grown.close();
  }
}, 120_000);

test("a database that is a store is not copied into", async () => {
  target = { ...cluster.connection, database: `${world.connection.database}_other` };
  await migrateStore(target, MIGRATIONS);
  await expect(rebalance()).rejects.toThrow(/_other is a store already: set CLICKHOUSE_DATABASE/);
  target = { ...target, database: world.connection.database };
  await expect(rebalance()).rejects.toThrow(/are both .*: set CLICKHOUSE_DATABASE to the name of a new one/);
});
