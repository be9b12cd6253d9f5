import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPreparedStore } from "@noisefloor/cli/store/store.ts";
import { backUpDatabase } from "@noisefloor/clickhouse/backup/backup.ts";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { readMigrations } from "@noisefloor/clickhouse/schema/migrate.ts";
import { readRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { migrateStore } from "@noisefloor/clickhouse-cluster/store.ts";
import { ENCODED_COLUMNS } from "@noisefloor/ingest/store/columns.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { makeEvents, toWire } from "../../support/builders/known-events.ts";
import { observation } from "../../support/builders/observation.ts";
import { seeded } from "../../support/builders/random.ts";
import { assertAnswers } from "../../support/oracle/check-answers.ts";
import { startCluster } from "../../support/servers/cluster.ts";
import { atVolume } from "../../support/volume.ts";
import { type BackupServer, restoreWorld, startBackupServer } from "../../support/worlds/backups.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { MIGRATIONS } from "../../support/worlds/databases.ts";
import { FIRST_MISSING, makeEarlierStore } from "../../support/worlds/earlier-store.ts";
import { contentOf, storeContents } from "../../support/worlds/store-contents.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const TAGS = [makeTag("worm", "malicious"), makeTag("crawler", "benign"), makeTag("scanner", "unknown")];
const random = seeded(7);
const EVENTS = makeEvents(random, { count: 600, tags: TAGS, days: 40 }, Date.now());
const ADDRESSES_ASKED = 4;

let server: BackupServer;

beforeAll(async () => {
  server = await startBackupServer();
}, 60_000);
afterAll(() => server.close());

async function openCluster(): Promise<ClickHouseConnection> {
  const cluster = await startCluster(2);
  onTestFinished(() => cluster.stop());
  return cluster.connection;
}

async function openWorld(at: ClickHouseConnection): Promise<World> {
  const world = await createWorld(Date.now, { server: at });
  onTestFinished(() => world.close());
  return world;
}

/** Without the views for dashboards, which a service makes when it starts. */
const schema = defineQuery({
  name: "test-schema",
  sql: `SELECT database = currentDatabase() AS isOwn, name,
      replaceRegexpAll(replaceAll(create_table_query, currentDatabase(), 'db'), 'UUID \\'[^\\']*\\'', '') AS sql
    FROM system.tables WHERE startsWith(database, currentDatabase()) AND engine != 'View' ORDER BY ALL`,
  params: z.object({}),
  row: z.object({ isOwn: z.int(), name: z.string(), sql: z.string() }),
});
const schemasOf = async (world: World) =>
  Promise.all((await world.client.servers()).flat().map((one) => run(one, schema, {})));

const columns = defineQuery({
  name: "test-columns",
  sql: "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = 'observations'",
  params: z.object({}),
  row: z.object({ name: z.string() }),
});

/** Stores observations in the tables of the version before, which lack columns that the intake writes. */
async function storeEarlier(world: World, observations: readonly Record<string, unknown>[]): Promise<void> {
  const earlier = new Set((await run(world.client, columns, {})).map(({ name }) => name));
  const missing = ENCODED_COLUMNS.filter((name) => !earlier.has(name));
  const alter = async (changeOf: (column: string) => string) => {
    if (missing.length === 0) return;
    const query = `ALTER TABLE observations ${missing.map(changeOf).join(", ")}`;
    for (const client of (await world.client.servers()).flat()) await client.command({ query });
  };
  await alter((column) => `ADD COLUMN ${column} String`);
  await world.store(observations);
  await alter((column) => `DROP COLUMN ${column}`);
}

async function openEarlier(at: ClickHouseConnection, events: readonly Record<string, unknown>[] = EVENTS.map(toWire)) {
  const world = await openWorld(at);
  const newSchemas = await schemasOf(world);
  await makeEarlierStore(world);
  await world.addTags(TAGS);
  await storeEarlier(world, events);
  return { world, newSchemas, key: await world.addCaller("unlimited", ["community_dataset"]) };
}

async function assertAsOracle(world: World, key: string): Promise<void> {
  await world.refresh();
  const url = await world.app.listen({ host: "127.0.0.1", port: 0 });
  await assertAnswers({ url, key }, { events: EVENTS, tags: TAGS }, random, ADDRESSES_ASKED);
}

test.each([
  ["one server", async () => server.connection] as const,
  ...atVolume([], [["a cluster", openCluster] as const]),
])(
  "a store of the version before, on %s, is brought up to date and answers the same",
  async (_, open) => {
    const at = await open();
    const last = EVENTS.length - 60;
    const { world, key, newSchemas } = await openEarlier(at, EVENTS.slice(0, last).map(toWire));
    // A migration adds columns to the observations.
    const { observations, ...before } = await storeContents(world.client);
    const { settings } = commandOver(world);
    await expect(openPreparedStore(settings)).rejects.toThrow(
      /migration address_facets has not been applied: run "noisefloor migr/,
    );

    const missing = (await readMigrations(MIGRATIONS)).filter(({ version }) => version >= FIRST_MISSING);
    expect(await migrateStore(world.connection, MIGRATIONS)).toEqual(missing);
    expect(await migrateStore(world.connection, MIGRATIONS)).toEqual([]);
    await (await openPreparedStore(settings)).close();
    expect(await storeContents(world.client)).toMatchObject({ ...before, observations: { rows: observations?.rows } });
    expect(await schemasOf(world)).toEqual(newSchemas);

    await world.store(EVENTS.slice(last).map(toWire));
    const fresh = await openWorld(at);
    await fresh.addTags(TAGS);
    await fresh.store(EVENTS.map(toWire));
    expect(await contentOf(world.client, "address_facets")).toEqual(await contentOf(fresh.client, "address_facets"));
    await assertAsOracle(world, key);
  },
  120_000,
);

test("an interrupted fill goes on where it was, and the store is not served before it has ended", async () => {
  const { world } = await openEarlier(server.connection);
  const fills: [string, number, number][] = [];
  const interrupt = () => {
    throw new Error("interrupted");
  };
  const { settings } = commandOver(world);
  await expect(migrateStore(world.connection, MIGRATIONS, { onFill: interrupt })).rejects.toThrow("interrupted");
  await expect(openPreparedStore(settings)).rejects.toThrow(/migration address_facets has not been applied/);
  await migrateStore(world.connection, MIGRATIONS, { onFill: (...fill) => fills.push(fill) });
  await (await openPreparedStore(settings)).close();
  const total = fills[0]?.[2] ?? 0;
  // Each of the two or three months that have events is a slice; the interrupted call had done the first.
  expect(total).toBeGreaterThan(1);
  expect(fills).toEqual(Array.from({ length: total - 1 }, (_, index) => ["address_facets", index + 2, total]));
  const fresh = await openWorld(server.connection);
  await fresh.addTags(TAGS);
  await fresh.store(EVENTS.map(toWire));
  expect(await contentOf(world.client, "address_facets")).toEqual(await contentOf(fresh.client, "address_facets"));
}, 60_000);

test("a migration that changes a view fills its rollup anew", async () => {
  const world = await openWorld(server.connection);
  await world.addTags(TAGS);
  await world.store(EVENTS.map(toWire));
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-migrations-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp(MIGRATIONS, folder, { recursive: true });
  await writeFile(
    join(folder, "9000_ports.sql"),
    `-- Fill address_facets.
ALTER TABLE address_facets_mv MODIFY QUERY
SELECT dataset, workspace_id, 'source_port' AS field, toString(destination_port) AS value, source_ip, observed_at AS last_seen
FROM observations;
`,
  );
  const before = await contentOf(world.client, "address_facets");
  await migrateStore(world.connection, folder);
  const { rows } = await contentOf(world.client, "address_facets");
  expect(rows).toBe(before.rows + new Set(EVENTS.map(({ dataset, ip, port }) => `${dataset} ${ip} ${port}`)).size);
}, 60_000);

test("a name of a TLS server that the version before kept in the metadata is searched", async () => {
  const seen = observation("45.83.64.1", Date.now() - 60_000, { metadata: { tls_sni: "WWW.example.net" } });
  const { world, key } = await openEarlier(server.connection, [seen]);
  await migrateStore(world.connection, MIGRATIONS);
  await world.refresh();
  const { body } = await world.get("/v3/gnql/ips?query=sni:www.example.*", { key });
  expect(body).toMatchObject({ ips: ["45.83.64.1"] });
}, 60_000);

test("a backup of the version before is restored, with its retention, and answers the same", async () => {
  const { world, key } = await openEarlier(server.connection);
  await world.client.command({
    query: "ALTER TABLE observations MODIFY TTL toDateTime(observed_at, 'UTC') + toIntervalDay(90)",
  });
  const path = server.place("earlier");
  const { database } = world.connection;
  await backUpDatabase(world.client, database, { kind: "file", path }, { signal: new AbortController().signal });
  const restored = await openWorld(server.connection);
  await restoreWorld(restored, path);
  expect(await readRetention(restored.client)).toBe(90);
  await assertAsOracle(restored, key);
}, 60_000);

test("an older store, or a backup of one, is an error that says what to do, and stays as it was", async () => {
  const { world } = await openEarlier(server.connection, []);
  await world.client.command({ query: "ALTER TABLE schema_migrations UPDATE checksum = '' WHERE version = 1" });
  const before = [await schemasOf(world), await storeContents(world.client)];
  const error =
    /a Noisefloor whose migration 0001_tags is another one than ours\. If that one is older, run "noisefloor migrate" of commit f36da7de first; if that fails too, start with a new database and read the records again \(docs\/operations\.md,/;
  await expect(migrateStore(world.connection, MIGRATIONS)).rejects.toThrow(error);
  await expect(openPreparedStore(commandOver(world).settings)).rejects.toThrow(error);
  const path = server.place("older");
  const { database } = world.connection;
  await backUpDatabase(world.client, database, { kind: "file", path }, { signal: new AbortController().signal });
  await expect(restoreWorld(await openWorld(server.connection), path)).rejects.toThrow(error);
  await expect(restoreWorld(world, path)).rejects.toThrow(error);
  expect([await schemasOf(world), await storeContents(world.client)]).toEqual(before);
});
