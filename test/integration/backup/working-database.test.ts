import { openStore } from "@noisefloor/cli/store.ts";
import { openWorkingDatabase } from "@noisefloor/clickhouse/working-database.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readWorkingDatabases } from "../../support/worlds/backups.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

let world: World;
const made: string[] = [];

beforeEach(async () => {
  world = await createWorld(Date.now);
});
afterEach(async () => {
  for (const name of made.splice(0)) await command(`DROP DATABASE IF EXISTS ${name} SYNC`);
  await world.close();
});

async function command(query: string): Promise<void> {
  await world.client.command({ query });
}

const HOUR_AGO = Math.floor(Date.now() / 1_000) - 3_600;

async function make(...names: string[]): Promise<void> {
  for (const name of names) {
    await command(`CREATE DATABASE ${name}`);
    made.push(name);
    await command(`CREATE TABLE ${name}.tags AS tags`);
  }
}

const ours = async () =>
  (await readWorkingDatabases(world)).filter((name) => name.startsWith(world.connection.database)).sort();

test("what a restore or backup that was killed has left goes when a service or migrate starts", async () => {
  const { database } = world.connection;
  const killed = [`${database}_restoring_${HOUR_AGO}_0a1b2c3d`, `${database}_backing_up_${HOUR_AGO}_0a1b2c3d`];
  // Of another store with a similar name, and a name without a time, which may be somebody's own.
  const others = [`${database}_2_restoring_${HOUR_AGO}_0a1b2c3d`, `${database}_restoring`];
  await make(...killed, ...others);
  const alive = await openWorkingDatabase(world.client, database, "backing_up");
  made.push(alive.name);
  // One more was made after it, and killed at once: nobody knows yet.
  const young = `${database}_restoring_${Math.floor(Date.now() / 1_000)}_00000001`;
  await make(young);

  const { settings, log } = commandOver(world);
  await (await openStore({ settings, log }, "lengthen")).close();
  expect(await ours(), "a command leaves it alone").toContain(killed[0]);
  await (await openStore({ settings, log }, "set")).close();
  expect(await ours()).toEqual([...others, alive.name, young].sort());
  await alive.drop();
});

test("a start does not fail when what it finds cannot be removed", async () => {
  const { connection } = world;
  const killed = `${connection.database}_restoring_${HOUR_AGO}_0a1b2c3d`;
  await make(killed);
  await command(`CREATE DICTIONARY ${killed}.slugs (id UUID, slug String) PRIMARY KEY id
    SOURCE(CLICKHOUSE(TABLE 'tags')) LAYOUT(COMPLEX_KEY_DIRECT())`);
  await command(`CREATE TABLE holder (id UUID, slug String DEFAULT dictGet('${killed}.slugs', 'slug', tuple(id)))
    ENGINE = MergeTree ORDER BY id`);
  const { settings, log } = commandOver(world);
  await (await openStore({ settings, log }, "set")).close();
  expect(await ours()).toEqual([killed]);
  await command("DROP TABLE holder SYNC");
});
