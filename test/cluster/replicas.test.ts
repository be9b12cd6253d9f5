import { runClusterCheck } from "@noisefloor/cli/commands/cluster/check.ts";
import { probeStore } from "@noisefloor/cli/diagnosis/probes/probe-store.ts";
import { openStore } from "@noisefloor/cli/store/prepare-store.ts";
import { openPreparedStore } from "@noisefloor/cli/store/store.ts";
import { askServers } from "@noisefloor/clickhouse/client/ask-servers.ts";
import { isTransient } from "@noisefloor/clickhouse/client/errors.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { mutate } from "@noisefloor/clickhouse/mutations/mutate.ts";
import { replaceRollups } from "@noisefloor/clickhouse/rollups/replace.ts";
import { consumerLag } from "@noisefloor/clickhouse/sensors/consumer-lag.ts";
import { applyRetention, readRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { connectStore, migrateStore } from "@noisefloor/clickhouse-cluster/store.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { toRow } from "@noisefloor/ingest/rows/observation-row.ts";
import { insertObservations } from "@noisefloor/ingest/store/insert.ts";
import { insertQueue } from "@noisefloor/ingest/store/insert-queue.ts";
import { openInsertQueue } from "@noisefloor/ingest/store/insert-queues.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { mixedObservations } from "../support/builders/mixed-observations.ts";
import { eventually, throughout } from "../support/eventually.ts";
import { type ClickHouseCluster, startCluster } from "../support/servers/cluster.ts";
import { testInFull } from "../support/test-in-full.ts";
import { atVolume } from "../support/volume.ts";
import { startIndex } from "../support/worlds/address-index.ts";
import { commandOver } from "../support/worlds/commands.ts";
import { MIGRATIONS } from "../support/worlds/databases.ts";
import { withLaterMigration } from "../support/worlds/later-migration.ts";
import { expectSameOnReplicas } from "../support/worlds/replicas.ts";
import { contentOf } from "../support/worlds/store-contents.ts";
import { createWorld, makeTag, RETENTION_DAYS, type World } from "../support/worlds/world.ts";

const NOW = Date.now();
const RETRY_MS = 60_000;
/** Of two servers each. */
const SHARDS = atVolume(1, 2);
/** By shard and replica. */
const KILLED: readonly (readonly [number, number])[] = atVolume(
  [[0, 0]],
  [
    [0, 0],
    [1, 1],
  ],
);
/** The replica of the first shard that is not asked after those were killed. */
const LAGGING = atVolume(0, 1);
const worm = makeTag("worm", "malicious");
let cluster: ClickHouseCluster;
let world: World;

beforeAll(async () => {
  cluster = await startCluster(SHARDS, { replicas: 2 });
  world = await createWorld(() => NOW, { server: cluster.connection });
  // As an intake prepares it: with all servers there, what it starts with is stored.
  await (await openStore(commandOver(world))).close();
  await world.addTags([worm]);
}, 120_000);
afterAll(() => world.close().finally(() => cluster.stop()));

/** The addresses are numbered in the order in which they are stored. */
let next = 0;
/** How many are still stored. */
let stored = 0;
/** Stores one observation each of `count` addresses that no test has stored yet, as the intake does. */
async function store(count: number): Promise<void> {
  const open = (server: typeof world.client) =>
    insertQueue({ insert: insertObservations(server), retryForMs: RETRY_MS, intervalMs: 0 });
  const queue = openInsertQueue(world.client, open, { forMs: RETRY_MS, isTransient });
  const rows = Array.from({ length: count }, (_, index) => {
    const number = next + index;
    const source_ip = `45.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
    const observation = {
      observed_at: new Date(NOW - 60_000).toISOString(),
      dataset: "global" as const,
      sensor_id: "s",
      source_ip,
      tags: [],
    };
    return toRow(
      { observation, observedAt: NOW - 60_000, isFilledIn: false },
      { observationId: `o-${number}`, tagIds: [worm.id] },
    );
  });
  next += count;
  stored += count;
  expect(await queue.store(rows, 100 * count)).toEqual([]);
}

const activity = (from: Pick<World, "get"> = world) => from.get(`/v3/tags/${worm.id}/activity?days=1&granularity=24h`);
const activitySchema = z.object({ aggregations: z.object({ total_ips: z.int() }) });
const allCounted = () => ({ status: 200, body: { aggregations: { total_ips: stored } } });

/** A server that has come back is asked when it has looked complete for some seconds. */
const expectAllCounted = () => eventually(async () => expect(await activity()).toMatchObject(allCounted()), 30_000);

/** What `cluster check` says of each server. */
async function check() {
  const command = commandOver(world);
  await runClusterCheck({ json: true }, command);
  const { exitCode } = process;
  process.exitCode = undefined;
  const servers = z.array(
    z.looseObject({ shard: z.int(), host: z.string(), replica: z.string(), problem: z.string() }),
  );
  return { servers: servers.parse(JSON.parse(command.lines.join(""))), exitCode };
}

test("the replicas of a shard have the same rows of every table, and all servers the same tags and keys", async () => {
  await store(500);
  // Without waiting: the insert has ended, so each replica has the rows, and what is derived from them.
  for (const replicas of await world.client.servers()) {
    const contents = replicas.map((server) =>
      Promise.all(["observations", "address_tags"].map((table) => contentOf(server, table))),
    );
    const [first, ...others] = await Promise.all(contents);
    for (const other of others) expect(other).toEqual(first);
    expect(first?.[0]?.rows).toBe(500 / SHARDS);
  }
  await expectAllCounted();
  await expectSameOnReplicas(world.client);
  expect(await migrateStore(world.connection, MIGRATIONS)).toEqual([]);
  const { servers, exitCode } = await check();
  expect(servers.map(({ shard, replica, problem }) => [shard, replica, problem])).toEqual([
    [1, "complete", ""],
    [1, "complete", ""],
    ...atVolume<(number | string)[][]>(
      [],
      [
        [2, "complete", ""],
        [2, "complete", ""],
      ],
    ),
  ]);
  expect(exitCode).toBeUndefined();
});

test("a rollup that a migration fills is filled once in each shard, and all replicas have its rows", async () => {
  const own = await createWorld(() => NOW, { server: cluster.connection });
  onTestFinished(() => own.close());
  await own.store(mixedObservations(NOW, 0, 100));
  const { rows } = await contentOf(own.client, "observations");
  const before = await contentOf(own.client, "address_facets");
  await migrateStore(own.connection, await withLaterMigration());
  expect((await contentOf(own.client, "address_facets")).rows).toBe(before.rows + rows);
  await expectSameOnReplicas(own.client);
});

test("a change of rows ends when every replica has made it, also one that the server does not wait for", async () => {
  const [shard] = await world.client.servers();
  const [first, second] = shard ?? [];
  if (first === undefined || second === undefined) throw new RangeError("there is no second replica");
  const left = async () => (await contentOf(second, "consumer_lag")).rows;
  await consumerLag.write(first, [{ topic: "events", messages: 7, seenAt: NOW }]);
  await eventually(async () => expect(await left()).toBe(1));
  await second.command({ query: "SYSTEM STOP MERGES consumer_lag" });
  const change = "DELETE WHERE topic = 'events'";
  let hasEnded = false;
  // The server of the first replica waits for itself alone, as if the other one had no session with Keeper.
  const settings = { mutations_sync: "1" };
  const waiting = mutate(world.client, { table: "consumer_lag", change, settings }).then(() => {
    hasEnded = true;
  });
  await throughout(500, async () => expect([hasEnded, await left()]).toEqual([false, 1]));
  await second.command({ query: "SYSTEM START MERGES consumer_lag" });
  await waiting;
  expect(await left()).toBe(0);
});

test("a store of one server does not become one of two replicas unseen", async () => {
  const connection = { ...cluster.connection, database: `${world.connection.database}_single` };
  await migrateStore({ ...connection, cluster: undefined, otherUrls: undefined }, MIGRATIONS);
  await expect(migrateStore(connection, MIGRATIONS)).rejects.toThrow(
    /is not replicated, but its shard has several servers: /,
  );
});

test("a user who may only read asks all shards of replicas", async () => {
  const client = connectStore({ ...cluster.reader, database: world.connection.database }, "noisefloor-tests");
  try {
    const result = await client.query({
      query: `SELECT uniqExact(source_ip) AS ips FROM ${OBSERVATIONS}`,
      format: "JSON",
    });
    expect((await result.json()).data).toEqual([{ ips: stored }]);
  } finally {
    await client.close();
  }
});

test("one replica of each shard may be killed: what is stored and asked meanwhile is exact", async () => {
  const index = await startIndex(world, { limit: 1_000_000, retentionDays: () => RETENTION_DAYS, now: () => NOW });
  await eventually(async () => expect(index.isCurrent()).toBe(true));
  for (const [shard, replica] of KILLED) {
    const storing = store(200);
    await cluster.kill(shard, replica);
    await storing;
    await expectAllCounted();
    await store(200);
    expect(await activity()).toMatchObject(allCounted());
    await mutate(world.client, { table: "consumer_lag", change: "DELETE WHERE topic = ''" });
    const { settings } = commandOver(world);
    expect((await probeStore(settings)).facts).toMatchObject({ value: { schema: { value: expect.any(Number) } } });
    await (await openPreparedStore(settings)).close();
    // As an intake opens it that starts now.
    await (await openStore(commandOver(world))).close();
    const checked = await check();
    expect(checked.servers.filter(({ problem }) => problem !== "")).toMatchObject([
      { shard: shard + 1, replica: "away" },
    ]);
    expect(checked.exitCode).toBe(1);
    await cluster.start(shard, replica);
    await eventually(async () => expect((await check()).exitCode).toBeUndefined(), 30_000);
    await expectAllCounted();
  }
  await eventually(async () => expect(index.size()).toBe(stored), 20_000);
  for (let number = 0; number < stored; number++) {
    expect(index.find(ipv4ToNumber("45.0.0.0") + number)).toMatchObject({ severity: 4 });
  }
  await index.stop();
  await expectSameOnReplicas(world.client);
}, 180_000);

test("a replica that lacks rows does not answer, also when the other one is away", async () => {
  const [shard] = await world.client.servers();
  const lagging = shard?.[LAGGING];
  if (lagging === undefined) throw new RangeError("there is no second replica");
  await lagging.command({ query: "SYSTEM STOP FETCHES" });
  await store(200);
  const state = async () => (await check()).servers[LAGGING]?.replica;
  await eventually(async () => expect(await state()).toBe("behind"), 20_000);
  expect(await activity()).toMatchObject(allCounted());
  await cluster.kill(0, 1 - LAGGING);
  await eventually(async () => expect((await activity()).status).toBe(503), 20_000);
  await cluster.start(0, 1 - LAGGING);
  await lagging.command({ query: "SYSTEM START FETCHES" });
  await expectAllCounted();
  await expectSameOnReplicas(world.client);
}, 120_000);

testInFull(
  "while Keeper is away questions are answered and rows wait",
  async () => {
    await expectAllCounted();
    const before = stored;
    await cluster.zookeeper?.kill();
    const storing = store(200);
    await eventually(async () => expect((await check()).servers[0]?.replica).toBe("alone"), 20_000);
    const { status, body } = await activity();
    expect(status).toBe(200);
    // Rows whose insert was under way may count already.
    expect(activitySchema.parse(body).aggregations.total_ips).toBeGreaterThanOrEqual(before);
    await cluster.zookeeper?.start();
    await storing;
    await expectAllCounted();
    await expectSameOnReplicas(world.client);
  },
  180_000,
);

testInFull(
  "a server that was lost with its disk gets all its rows again from the other one",
  async () => {
    await cluster.kill(1, 0);
    await cluster.start(1, 0, { isEmpty: true });
    await migrateStore(world.connection, MIGRATIONS);
    await expectAllCounted();
    await expectSameOnReplicas(world.client);
  },
  120_000,
);

testInFull(
  "rollups are replaced, rows deleted and the retention changed on every replica",
  async () => {
    const { client } = world;
    await mutate(client, { table: "observations", change: "DELETE WHERE source_ip < toIPv4('45.0.0.100')" });
    stored -= 100;
    expect(await replaceRollups(client, { stale: { from: NOW - 3_600_000, to: NOW } })).toBe(true);
    await expectAllCounted();
    await expectSameOnReplicas(world.client);
    await applyRetention(client, RETENTION_DAYS + 7);
    await eventually(async () => {
      expect(await askServers(client, readRetention)).toEqual(Array.from({ length: 4 }, () => RETENTION_DAYS + 7));
    });
    // The retention that is read is that of one table: those changed last may follow later on a busy replica.
    await eventually(async () => expect(await applyRetention(client, RETENTION_DAYS + 7)).toEqual([]), 20_000);
  },
  120_000,
);

testInFull(
  "while all replicas of a shard are away, questions that need it get a 503",
  async () => {
    await cluster.kill(1, 0);
    await cluster.kill(1, 1);
    await eventually(async () => expect((await activity()).status).toBe(503));
    await cluster.start(1, 0);
    await cluster.start(1, 1);
    await expectAllCounted();
  },
  120_000,
);
