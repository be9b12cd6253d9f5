import { openStore } from "@noisefloor/cli/store/prepare-store.ts";
import { openPreparedStore } from "@noisefloor/cli/store/store.ts";
import { acquireServerLock } from "@noisefloor/clickhouse/backup/server-lock.ts";
import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { openScratchDatabase } from "@noisefloor/clickhouse/restore/scratch-database.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { testInFull } from "../../support/test-in-full.ts";
import { numberOf, readScratchDatabases } from "../../support/worlds/backups.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

let world: World;
let scratchName: string;
const made: string[] = [];

beforeEach(async () => {
  world = await createWorld(Date.now);
  scratchName = `${world.connection.database}_restoring`;
});
afterEach(async () => {
  for (const name of made.splice(0)) await command(`DROP DATABASE IF EXISTS ${name} SYNC`);
  await world.close();
});

async function command(query: string): Promise<void> {
  await world.client.command({ query });
}

async function make(name: string, comment: string): Promise<void> {
  await command(`CREATE DATABASE ${name} COMMENT '${comment}'`);
  made.push(name);
  await command(`CREATE TABLE ${name}.tags AS tags`);
}

const OURS = "Scratch of a Noisefloor restore";
const start = async () => {
  const { settings, log } = commandOver(world);
  await (await openStore({ settings, log })).close();
};
const left = async () =>
  (await readScratchDatabases(world)).filter((name) => name.startsWith(world.connection.database));

test("the scratch database of a killed restore is dropped by the next service or migrate, and by no other command", async () => {
  const ofAnother = `${world.connection.database}_2_restoring`;
  await make(scratchName, OURS);
  await make(ofAnother, OURS);
  await (await openPreparedStore(commandOver(world).settings)).close();
  expect(await left()).toEqual([ofAnother, scratchName].sort());
  await start();
  expect(await left(), "the scratch database of another store is left alone").toEqual([ofAnother]);
});

test("the scratch database of a running restore is left alone, and no other restore gets it", async () => {
  const scratch = await openScratchDatabase(world.connection);
  await start();
  expect(await left()).toEqual([scratchName]);
  await expect(openScratchDatabase(world.connection)).rejects.toThrow(
    /^a restore, a removal of observations or a reapplying of tags is running/,
  );
  await scratch.close();
  expect(await left()).toEqual([]);
  await (await openScratchDatabase(world.connection)).close();
});

test("a user's own database of that name is never dropped", async () => {
  await make(scratchName, "mine");
  await start();
  await expect(openScratchDatabase(world.connection)).rejects.toThrow(
    /needs the database name \w+_restoring, .* rename or drop/,
  );
  expect(await left()).toEqual([scratchName]);
});

test("a lock ends with the connection of the process that held it", async () => {
  const id = `test-lock-${world.connection.database}`;
  const holder = connect({ ...world.connection, database: "default" }, "noisefloor-tests");
  const sleeping = holder
    .query({
      query: "SELECT sleepEachRow(0.1) FROM numbers(864000) SETTINGS max_block_size = 1",
      query_id: id,
      clickhouse_settings: { readonly: "2", cancel_http_readonly_queries_on_client_close: 1 },
    })
    .catch(() => {});
  const running = `SELECT count() FROM system.processes WHERE query_id = '${id}'`;
  await eventually(async () => expect(await numberOf(world, running)).toBe(1));
  expect(await acquireServerLock(world.connection, id)).toBeUndefined();
  await holder.close();
  await sleeping;
  await eventually(async () => {
    const release = await acquireServerLock(world.connection, id);
    expect(release).toBeDefined();
    await release?.();
  });
});

testInFull("a start does not fail when a scratch database cannot be dropped", async () => {
  await make(scratchName, OURS);
  await command(`CREATE DICTIONARY ${scratchName}.slugs (id UUID, slug String) PRIMARY KEY id
    SOURCE(CLICKHOUSE(TABLE 'tags')) LAYOUT(COMPLEX_KEY_DIRECT())`);
  await command(`CREATE TABLE holder (id UUID, slug String DEFAULT dictGet('${scratchName}.slugs', 'slug', tuple(id)))
    ENGINE = MergeTree ORDER BY id`);
  await start();
  expect(await left()).toEqual([scratchName]);
  await command("DROP TABLE holder SYNC");
});
