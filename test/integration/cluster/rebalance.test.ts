import { type RebalanceCommandOptions, runClusterRebalance } from "@noisefloor/cli/commands/cluster/rebalance.ts";
import { openPreparedStore } from "@noisefloor/cli/store.ts";
import { type ClickHouseClient, type ClickHouseConnection, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { serversOf } from "@noisefloor/clickhouse/cluster/cluster.ts";
import { countMisplaced } from "@noisefloor/clickhouse/cluster/placement.ts";
import { readShards } from "@noisefloor/clickhouse/cluster/servers.ts";
import { removeSensors } from "@noisefloor/clickhouse/rollups/remove-sensors.ts";
import { migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { readRetention } from "@noisefloor/clickhouse/schema/retention.ts";
import { TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { networkList } from "../../support/builders/network-list.ts";
import { type ClickHouseCluster, startCluster } from "../../support/servers/cluster.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { dropDatabase, MIGRATIONS } from "../../support/worlds/databases.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const HOUR_MS = 3_600_000;
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

/** Over three weeks, of three sensors; every tenth is sent twice, and every twentieth cannot be stored. */
const observations = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => {
    const number = from + index - (index % 10 === 1 ? 1 : 0);
    return {
      observation_id: `o-${number}`,
      observed_at: new Date(NOW - ((number * 37) % 400) * HOUR_MS).toISOString(),
      sensor_id: `sensor-${number % 3}`,
      source_ip: index % 20 === 7 ? "10.0.0.1" : `45.${number & 3}.${(number * 7) & 255}.${(number * 13) & 255}`,
      tags: number % 4 === 0 ? [] : number % 4 === 1 ? ["worm"] : ["worm", "crawler"],
      destination_port: number & 1023,
      http: { path: `/${number}`, user_agent: "probe" },
    };
  });

const rowsOf = (table: string) =>
  table === "tag_activity_hourly"
    ? `SELECT count() AS rows, toString(sum(cityHash64(tag_id, dataset, workspace_id, hour, addresses))) AS digest FROM (
        SELECT tag_id, dataset, workspace_id, hour, uniqExactMerge(addresses) AS addresses
        FROM tag_activity_hourly GROUP BY tag_id, dataset, workspace_id, hour)`
    : `SELECT count() AS rows, toString(sum(cityHash64(toString(tuple(*))))) AS digest FROM ${table} FINAL`;

const contents = (table: string) =>
  defineQuery({
    name: "test-contents",
    sql: rowsOf(table),
    params: z.object({}),
    row: z.object({ rows: z.int(), digest: z.string() }),
  });

/** The content of every table of a store, over all its shards. */
async function contentsOf(client: ClickHouseClient) {
  const tables = Object.keys(TABLES).filter((table) => !["schema_migrations", "address_changes"].includes(table));
  return Object.fromEntries(
    await Promise.all(tables.map(async (table) => [table, (await run(client, contents(table), {}))[0]] as const)),
  );
}

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
  await world.store(observations(0, 600));
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

  // What has come in since then, and what is gone, is so in the copy, too.
  await world.store(observations(600, 50));
  await removeSensors(world.client, "sensor-2");
  await world.addTags([makeTag("later", "suspicious")]);
  const half = new AbortController();
  const { settings } = commandOver({ connection: target });
  await expect(openPreparedStore(settings)).rejects.toThrow(/is a copy that is not complete: stop the intake and run/);
  await expect(migrate(target, MIGRATIONS)).rejects.toThrow(/is a copy that is not complete/);
  half.abort();
  expect(await rebalance({ finish: true }, half.signal)).toMatchObject({ is_complete: false, is_finished: false });
  await expect(openPreparedStore(settings)).rejects.toThrow(/is a copy that is not complete/);
  expect(await rebalance({ finish: true })).toMatchObject({ is_complete: true, is_finished: true });

  const grown = connect(target, "noisefloor-tests");
  try {
    expect(await contentsOf(grown)).toEqual(await contentsOf(world.client));
    expect(await readRetention(grown)).toBe(await readRetention(world.client));
    const shards = await readShards(grown, cluster.connection.cluster ?? "");
    for (const [index, server] of (await serversOf(grown)).entries()) {
      expect(await countMisplaced(server, shards, index)).toBe(0);
      const counted = await run(server, contents("observations"), {});
      expect(counted[0]?.rows, `shard ${index + 1}`).toBeGreaterThan(50);
      const [tags] = await run(server, contents("tags"), {});
      expect(tags?.rows).toBe(TAGS.length + 1);
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
  await migrate(target, MIGRATIONS);
  await expect(rebalance()).rejects.toThrow(/_other is a store already: set CLICKHOUSE_DATABASE/);
  target = { ...target, database: world.connection.database };
  await expect(rebalance()).rejects.toThrow(/are both .*: set CLICKHOUSE_DATABASE to the name of a new one/);
});
