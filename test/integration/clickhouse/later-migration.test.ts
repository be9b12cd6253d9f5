import { openPreparedStore } from "@noisefloor/cli/store/store.ts";
import { backUpDatabase } from "@noisefloor/clickhouse/backup/backup.ts";
import { assertCurrentSchema, readMigrations } from "@noisefloor/clickhouse/schema/migrate.ts";
import { migrateStore, restoreStore } from "@noisefloor/clickhouse-cluster/store.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { mixedObservations } from "../../support/builders/mixed-observations.ts";
import { type BackupServer, numberOf, restoreWorld, startBackupServer } from "../../support/worlds/backups.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { MIGRATIONS } from "../../support/worlds/databases.ts";
import { withLaterMigration } from "../../support/worlds/later-migration.ts";
import { storeContents } from "../../support/worlds/store-contents.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const DAY_MS = 24 * 3_600_000;
const { signal } = new AbortController();
let server: BackupServer;

beforeAll(async () => {
  server = await startBackupServer();
}, 60_000);
afterAll(() => server.close());

async function openWorld(): Promise<World> {
  const world = await createWorld(() => NOW, { server: server.connection });
  onTestFinished(() => world.close());
  return world;
}

/** With observations of several months, which are filled one after the other. */
async function openFilled(): Promise<World> {
  const world = await openWorld();
  await world.addTags([makeTag("worm", "malicious"), makeTag("crawler", "benign")]);
  for (const days of [0, 40]) await world.store(mixedObservations(NOW - days * DAY_MS, days, 300));
  return world;
}

const laterRows = (world: World) => numberOf(world, "SELECT count() FROM address_facets FINAL WHERE field = 'later'");
const observations = (world: World) => numberOf(world, "SELECT count() FROM observations FINAL");

async function backUp({ client, connection }: World, name: string) {
  const place = { kind: "file", path: server.place(name) } as const;
  await backUpDatabase(client, connection.database, place, { signal });
  return place;
}

test("a migration that changes a view fills its rollup with what is stored, before any service starts", async () => {
  const world = await openFilled();
  const folder = await withLaterMigration();
  const migrations = await readMigrations(folder);
  const interrupt = () => {
    throw new Error("interrupted");
  };
  await expect(migrateStore(world.connection, folder, { onFill: interrupt })).rejects.toThrow("interrupted");
  const lacking = /migration later has not been applied: run "noisefloor migrate"/;
  await expect(assertCurrentSchema(world.client, migrations)).rejects.toThrow(lacking);
  const fills: (readonly [number, number])[] = [];
  await migrateStore(world.connection, folder, { onFill: (...fill) => fills.push(fill) });
  await assertCurrentSchema(world.client, migrations);
  expect(fills.length).toBeGreaterThan(1);
  const [done, total] = fills.at(-1) ?? [];
  expect(done).toBe(total);
  expect(await laterRows(world)).toBe(await observations(world));
  await world.store(mixedObservations(NOW, 600, 100));
  expect(await laterRows(world)).toBe(await observations(world));
  expect(await migrateStore(world.connection, folder)).toEqual([]);
});

test("a backup of before a migration is restored with what the migration makes", async () => {
  const world = await openFilled();
  const place = await backUp(world, "before");
  const restored = await openWorld();
  const folder = await withLaterMigration();
  await restoreStore(restored.connection, place, { replace: true, migrations: folder, signal });
  await assertCurrentSchema(restored.client, await readMigrations(folder));
  expect(await observations(restored)).toBe(await observations(world));
  expect(await laterRows(restored)).toBe(await observations(world));
});

test("a store of an unreleased version, or a backup of one, is an error that says what to do, and stays as it was", async () => {
  const world = await openWorld();
  await world.client.command({ query: "ALTER TABLE schema_migrations UPDATE checksum = '' WHERE version = 1" });
  const before = await storeContents(world.client);
  const error =
    /made by an unreleased Noisefloor, whose migration 0001_tags was another one: start with a new database and read the records again \(docs\/operations\.md, "A database of an unreleased version"\)/;
  await expect(migrateStore(world.connection, MIGRATIONS)).rejects.toThrow(error);
  await expect(openPreparedStore(commandOver(world).settings)).rejects.toThrow(error);
  const { path } = await backUp(world, "unreleased");
  await expect(restoreWorld(await openWorld(), path)).rejects.toThrow(error);
  await expect(restoreWorld(world, path)).rejects.toThrow(error);
  expect(await storeContents(world.client)).toEqual(before);
});
