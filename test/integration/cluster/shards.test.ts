import { runClusterCheck } from "@noisefloor/cli/commands/cluster/check.ts";
import { runObservationsRemove } from "@noisefloor/cli/commands/observations/remove.ts";
import { probeStore } from "@noisefloor/cli/diagnosis/probes/probe-store.ts";
import { openPreparedStore } from "@noisefloor/cli/store/store.ts";
import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { isTransient } from "@noisefloor/clickhouse/client/errors.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { ADDRESS_FACETS, OBSERVATIONS, TAG_ADDRESSES } from "@noisefloor/clickhouse/client/table-names.ts";
import { readLoudestSources } from "@noisefloor/clickhouse/observations/loudest-sources.ts";
import { readMigrations } from "@noisefloor/clickhouse/schema/migrate.ts";
import { SPREAD_TABLES, TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { readDiskSpace } from "@noisefloor/clickhouse/server/disk-space.ts";
import { readSize } from "@noisefloor/clickhouse/storage/growth.ts";
import { readTableStatistics, type TableStatistics } from "@noisefloor/clickhouse/storage/table-statistics.ts";
import { connectionsOf, readShards } from "@noisefloor/clickhouse-cluster/client/servers.ts";
import { type Shard, shardOfAddress } from "@noisefloor/clickhouse-cluster/client/shard.ts";
import { assertPlacement } from "@noisefloor/clickhouse-cluster/schema/placement.ts";
import { connectStore, migrateStore } from "@noisefloor/clickhouse-cluster/store.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { toRow } from "@noisefloor/ingest/rows/observation-row.ts";
import { insertObservations } from "@noisefloor/ingest/store/insert.ts";
import { insertQueue } from "@noisefloor/ingest/store/insert-queue.ts";
import { openInsertQueue } from "@noisefloor/ingest/store/insert-queues.ts";
import { countSeen } from "@noisefloor/query/stats/queries.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { networkList } from "../../support/builders/network-list.ts";
import { addressOf, observation as observationAt } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { type ClickHouseCluster, startCluster } from "../../support/servers/cluster.ts";
import { startIndex } from "../../support/worlds/address-index.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { MIGRATIONS } from "../../support/worlds/databases.ts";
import { storeContents } from "../../support/worlds/store-contents.ts";
import { createWorld, makeTag, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const worm = makeTag("worm", "malicious");
let cluster: ClickHouseCluster;
let world: World;
let shards: readonly Shard[];

beforeAll(async () => {
  cluster = await startCluster(2);
  world = await createWorld(() => NOW, { server: cluster.connection });
  shards = await readShards(world.client, cluster.connection.cluster ?? "");
  await world.addTags([worm]);
  await world.replaceNetworks("actor", [networkList("census", ["45.3.0.0/16"])]);
});
afterAll(async () => {
  await world.close();
  await cluster.stop();
});

const observation = (ip: string) => ({
  observed_at: new Date(NOW - 60_000).toISOString(),
  dataset: "global" as const,
  sensor_id: "s",
  source_ip: ip,
  tags: ["worm"],
});

/** What the server of each shard has by itself. */
async function onEachServer<T>(ask: (client: ReturnType<typeof connect>) => Promise<T>): Promise<T[]> {
  const clients = connectionsOf(world.connection, shards)
    .flat()
    .map((server) => connect(server, "noisefloor-tests"));
  try {
    return await Promise.all(clients.map(ask));
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

const addresses = (table: string) =>
  defineQuery({
    name: "test-addresses",
    sql: `SELECT toUInt32(source_ip) AS address FROM ${table} ORDER BY address`,
    params: z.object({}),
    row: z.object({ address: z.int() }),
  });
const addressesIn = (table: string) =>
  onEachServer(async (client) => (await run(client, addresses(table), {})).map(({ address }) => address));

test("each observation, and all that is derived from it, is on the shard of its address and nowhere else", async () => {
  const ips = Array.from({ length: 300 }, (_, index) => `45.1.${index >> 8}.${(index * 7) & 255}`);
  await world.store(ips.map(observation));
  const shardOf = shardOfAddress(shards);
  const numbers = [...new Set(ips.map(ipv4ToNumber))].sort((a, b) => a - b);
  const expected = shards.map((_, shard) => numbers.filter((number) => shardOf(number) === shard));
  for (const shard of expected) expect(shard.length).toBeGreaterThan(50);
  const seen = `${ADDRESS_FACETS} FINAL WHERE field = 'seen'`;
  for (const table of [`${OBSERVATIONS} FINAL`, `${TAG_ADDRESSES} FINAL`, seen]) {
    expect(await addressesIn(table), table).toEqual(expected);
  }
});

test("the index in memory has the addresses of all shards", async () => {
  const index = await startIndex(world, { limit: 1_000_000, retentionDays: () => RETENTION_DAYS, now: () => NOW });
  try {
    await eventually(async () => expect(index.isCurrent()).toBe(true));
    const stored = (await addressesIn(`${OBSERVATIONS} FINAL`)).flat();
    expect(index.size()).toBe(stored.length);
    for (const address of stored) expect(index.find(address), String(address)).toMatchObject({ severity: 4 });
    const visited: number[] = [];
    for (const _step of index.visit(NOW - 3_600_000, (address) => visited.push(address)));
    expect(visited.sort()).toEqual(stored.sort());
  } finally {
    await index.stop();
  }
});

const contents = (table: string) =>
  defineQuery({
    name: "test-contents",
    sql: `SELECT count() AS rows, toString(groupBitXor(cityHash64(*))) AS digest FROM ${table}`,
    params: z.object({}),
    row: z.object({ rows: z.int(), digest: z.string() }),
  });

test("every server has all tags, networks, workspaces and keys, and the same schema", async () => {
  const everywhere = Object.keys(TABLES).filter((table) => !SPREAD_TABLES.includes(table));
  const filled: string[] = [];
  for (const table of everywhere) {
    // Each server notes the time of its own migrations.
    if (table === "schema_migrations") continue;
    const [first, ...others] = await onEachServer(async (client) => (await run(client, contents(table), {}))[0]);
    for (const other of others) expect(other, table).toEqual(first);
    if (first !== undefined && first.rows > 0) filled.push(table);
  }
  expect(filled).toEqual(expect.arrayContaining(["tags", "network_ranges", "workspaces", "credentials"]));
  expect(await migrateStore(world.connection, MIGRATIONS)).toEqual([]);
});

async function check() {
  const command = commandOver(world);
  await runClusterCheck({ json: true }, command);
  const { exitCode } = process;
  process.exitCode = undefined;
  const schema = z.array(z.looseObject({ rows: z.int(), problem: z.string() }));
  return { shards: schema.parse(JSON.parse(command.lines.join(""))), exitCode };
}

test("sizes are those of all shards", async () => {
  const rows = (await addressesIn("observations")).flat().length;
  expect(await readSize(world.client)).toMatchObject({ observations: rows });
  const sizes = await onEachServer(readTableStatistics);
  const bytes = (all: readonly TableStatistics[]) => all.reduce((sum, { bytesOnDisk }) => sum + bytesOnDisk, 0);
  const together = await readTableStatistics(world.client);
  expect(together.find(({ table }) => table === "observations")?.rows).toBe(rows);
  expect(bytes(together)).toBe(sizes.reduce((sum, one) => sum + bytes(one), 0));
  const spaces = await onEachServer(readDiskSpace);
  for (const space of spaces) expect(space).not.toBeInstanceOf(Error);
  expect(await readDiskSpace(world.client)).toMatchObject({ freeBytes: expect.any(Number) });
});

test("cluster check says what each shard holds", async () => {
  const checked = await check();
  expect(checked.shards).toEqual([
    expect.objectContaining({ shard: 1, host: "127.0.0.2", weight_percent: 50, misplaced_addresses: 0, problem: "" }),
    expect.objectContaining({ shard: 2, host: "127.0.0.3", weight_percent: 50, misplaced_addresses: 0, problem: "" }),
  ]);
  expect(checked.shards.every(({ rows }) => rows > 50)).toBe(true);
  expect(checked.exitCode).toBeUndefined();
});

test("an address on a shard that is not its own is an error, as it would count twice", async () => {
  await expect(assertPlacement(world.client, shards)).resolves.toBeUndefined();
  const [first, second] = shards;
  if (first === undefined || second === undefined) throw new RangeError("there are two shards");
  // As if the configuration had changed after the rows were stored.
  const changed = [{ ...first, weight: 2 }, second];
  await expect(assertPlacement(world.client, changed)).rejects.toThrow(/\d+ addresses are on another shard/);
});

test("a user who may only read asks all shards, and changes nothing", async () => {
  const { database } = world.connection;
  const client = connectStore({ ...cluster.reader, database }, "noisefloor-tests");
  try {
    const stored = (await addressesIn(`${OBSERVATIONS} FINAL`)).flat().length;
    expect(
      await run(client, countSeen, { scopes: [{ dataset: "global", workspaceId: "" }], from: NOW - 3_600_000 }),
    ).toEqual([{ active_ips: stored }]);
    expect(await run(client, addresses(`${OBSERVATIONS} FINAL`), {})).toHaveLength(stored);
    await expect(client.command({ query: "TRUNCATE TABLE observations" })).rejects.toThrow(/readonly|privileges/);
  } finally {
    await client.close();
  }
});

/** Again while a busy machine answers later than a probe waits. */
const probeUntil = (settings: Settings, facts: object) =>
  eventually(async () => expect((await probeStore(settings)).facts).toMatchObject(facts));

test("no service starts while one server lacks a migration, and status says so", async () => {
  const [, second] = (await world.client.servers()).flat();
  if (second === undefined) throw new RangeError("there is no second server");
  const last = (await readMigrations(MIGRATIONS)).at(-1);
  await second.command({ query: `DELETE FROM schema_migrations WHERE version = ${last?.version}` });
  try {
    const { settings } = commandOver(world);
    const error = `migration ${last?.name} has not been applied: run "noisefloor migrate", as a user who may create tables`;
    await expect(openPreparedStore(settings)).rejects.toThrow(error);
    await probeUntil(settings, { value: { schema: { error } } });
  } finally {
    await migrateStore(world.connection, MIGRATIONS);
  }
});

test("a cluster that the server does not know is an error that names the setting", async () => {
  const unknown = { ...world.connection, cluster: "elsewhere" };
  await expect(migrateStore(unknown, MIGRATIONS)).rejects.toThrow(/no cluster elsewhere: .*CLICKHOUSE_CLUSTER/);
});

const total = defineQuery({
  name: "test-total",
  sql: `SELECT count() AS rows FROM ${OBSERVATIONS} WHERE source_ip >= toIPv4('45.2.0.0')`,
  params: z.object({}),
  row: z.object({ rows: z.int() }),
});

test("removed observations go from every shard, with all that was counted of them", async () => {
  const one = await createWorld(() => NOW, { server: cluster.connection });
  onTestFinished(() => one.close());
  await one.addTags([worm]);
  const seenBy = (sensor_id: string) =>
    Array.from({ length: 60 }, (_, index) =>
      observationAt(addressOf(index), NOW - 3_600_000 * index, { sensor_id, tags: ["worm"] }),
    );
  await one.store(seenBy("right").slice(0, 40));
  const before = await storeContents(one.client);
  const since = new Date().toISOString();
  await one.store(seenBy("wrong"));
  expect((await readLoudestSources(one.client, NOW)).map(({ sensor }) => sensor).toSorted()).toEqual([
    "right",
    "wrong",
  ]);
  const command = commandOver(one);
  const options = { sensor: ["wrong"], receivedSince: since, dryRun: false, yes: true, json: true };
  await runObservationsRemove(options, command);
  expect(JSON.parse(command.lines.join(""))).toMatchObject({
    is_complete: true,
    observations: 60,
    addresses: 60,
    hours: 60,
  });
  expect(await storeContents(one.client)).toEqual(before);
}, 120_000);

test("while a shard is away questions get a 503 and its rows wait; those of other shards are stored", async () => {
  const retryForMs = 60_000;
  const open = (server: typeof world.client) =>
    insertQueue({ insert: insertObservations(server), retryForMs, intervalMs: 0 });
  const queue = openInsertQueue(world.client, open, { forMs: retryForMs, isTransient });
  const rows = Array.from({ length: 100 }, (_, index) => {
    const valid = { observation: { ...observation(`45.2.0.${index}`), tags: [] }, observedAt: NOW, isFilledIn: false };
    return toRow(valid, { observationId: `o-${index}`, tagIds: [worm.id] });
  });
  await cluster.kill(1);
  const stored = queue.store(rows, 10_000);
  await eventually(async () => expect((await addressesOn(0)).length).toBe(50));
  for (const path of [`/v3/tags/${worm.id}/activity?days=1&granularity=1h`, "/v3/noise/ips/45.2.0.1/timeline"]) {
    expect((await world.get(path)).status, path).toBe(503);
  }
  const checked = await check();
  expect(checked.shards).toMatchObject([{ problem: "" }, { problem: expect.stringContaining("127.0.0.3") }]);
  expect(checked.exitCode).toBe(1);
  const { settings } = commandOver(world);
  await probeUntil(settings, {
    error: expect.stringMatching(/^cannot connect to ClickHouse at http:\/\/127\.0\.0\.3:\d+: connection refused/),
  });
  await cluster.start(1);
  // Of the server that has just started, which has the same clock as the first.
  const clock = {
    uptimeSeconds: expect.toSatisfy((seconds) => seconds < 60),
    version: expect.not.stringContaining(","),
  };
  await probeUntil(settings, { value: { clock } });
  expect(await stored).toEqual([]);
  expect(await run(world.client, total, {})).toEqual([{ rows: 100 }]);
  expect((await world.get("/v3/noise/ips/45.2.0.1/timeline")).status).toBe(200);
}, 120_000);

/** The addresses of the test above that one server has. */
async function addressesOn(shard: number): Promise<readonly number[]> {
  const [server] = connectionsOf(world.connection, shards.slice(shard, shard + 1)).flat();
  if (server === undefined) throw new RangeError(`there is no shard ${shard}`);
  const client = connect(server, "noisefloor-tests");
  try {
    const found = (await run(client, addresses(`${OBSERVATIONS} FINAL`), {})).map(({ address }) => address);
    return found.filter((address) => address >= ipv4ToNumber("45.2.0.0"));
  } finally {
    await client.close();
  }
}
