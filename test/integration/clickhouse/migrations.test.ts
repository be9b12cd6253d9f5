import { randomUUID } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClickHouseClient, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { migrate, readMigrations } from "@noisefloor/clickhouse/schema/migrate.ts";
import { OWN_TTL_TABLES, TABLES, TRANSIENT_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { applyRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { z } from "zod";
import { MIGRATIONS } from "../../support/worlds/databases.ts";

const connection = () => ({ ...inject("clickhouse"), database });
let database: string;
let client: ClickHouseClient;
let folder: string;

beforeEach(async () => {
  database = `test_${randomUUID().replaceAll("-", "")}`;
  client = connect(connection(), "noisefloor-tests");
  folder = await mkdtemp(join(tmpdir(), "noisefloor-migrations-"));
  await cp(MIGRATIONS, folder, { recursive: true });
});
afterEach(async () => {
  await client.command({ query: `DROP DATABASE IF EXISTS ${database}` });
  await client.close();
  await rm(folder, { recursive: true });
});

const schema = defineQuery({
  name: "test-schema",
  sql: "SELECT name, create_table_query AS sql FROM system.tables WHERE database = currentDatabase() AND name NOT LIKE '.%' ORDER BY name",
  params: z.object({}),
  row: z.object({ name: z.string(), sql: z.string() }),
});
const schemaNow = () => run(client, schema, {});
const withoutIds = (tables: { name: string; sql: string }[]) =>
  tables.map(({ name, sql }) => `${name}: ${sql.replace(/UUID '[^']*'/g, "")}`);

test("an empty server gets the whole schema, and a second run has nothing to do", async () => {
  const files = await readdir(MIGRATIONS);
  expect(await migrate(connection(), MIGRATIONS)).toHaveLength(files.length);
  const before = withoutIds(await schemaNow());
  expect(before.length).toBeGreaterThan(10);
  expect(await migrate(connection(), MIGRATIONS)).toEqual([]);
  expect(withoutIds(await schemaNow())).toEqual(before);
});

test("every migration can be applied twice without a change", async () => {
  await migrate(connection(), MIGRATIONS);
  const before = withoutIds(await schemaNow());
  for (const { statements } of await readMigrations(MIGRATIONS)) {
    for (const query of statements) await client.command({ query });
  }
  expect(withoutIds(await schemaNow())).toEqual(before);
});

test("six processes that start at once all end with the same schema", async () => {
  await Promise.all(Array.from({ length: 6 }, () => migrate(connection(), MIGRATIONS)));
  expect(await migrate(connection(), MIGRATIONS)).toEqual([]);
});

test("a migration that is not the one that was applied is an error with its name, and nothing is applied", async () => {
  await migrate(connection(), folder);
  const file = join(folder, "0004_observations.sql");
  await writeFile(file, `${await readFile(file, "utf8")}-- changed`);
  await writeFile(join(folder, "9000_new.sql"), "CREATE TABLE IF NOT EXISTS new (x UInt8) ENGINE = Memory");
  await expect(migrate(connection(), folder)).rejects.toThrow(/migration 0004_observations was another one/);
  expect((await schemaNow()).map(({ name }) => name)).not.toContain("new");
});

test("a database of a newer version is rejected", async () => {
  await writeFile(join(folder, "9000_future.sql"), "CREATE TABLE IF NOT EXISTS future (x UInt8) ENGINE = Memory");
  await migrate(connection(), folder);
  await expect(migrate(connection(), MIGRATIONS)).rejects.toThrow(
    /written by a newer Noisefloor \(it has migration 9000_future\): update this one/,
  );
});

test("the retention is one setting for every table, and setting it again changes nothing", async () => {
  await migrate(connection(), MIGRATIONS);
  expect(await applyRetention(client, 100), "the default is what migrations say").toEqual([]);
  const ageing = Object.values(TABLES).filter((table) => table.ageing !== undefined).length;
  expect(await applyRetention(client, 400)).toHaveLength(ageing);
  expect(await applyRetention(client, 400)).toEqual([]);
  const others = [...TRANSIENT_TABLES, ...OWN_TTL_TABLES];
  const withTtl = (await schemaNow()).filter(({ name, sql }) => / TTL /.test(sql) && !others.includes(name));
  expect(withTtl).toHaveLength(ageing);
  for (const { name, sql } of withTtl) expect(sql, name).toMatch(/TTL .*toIntervalDay\(400\)/);
});

test("the tables have the same intentions in the same order of severity as the domain", async () => {
  await migrate(connection(), MIGRATIONS);
  const enumOf = defineQuery({
    name: "test-enum",
    sql: "SELECT type FROM system.columns WHERE database = currentDatabase() AND table = 'tags' AND name = 'intention'",
    params: z.object({}),
    row: z.object({ type: z.string() }),
  });
  const [row] = await run(client, enumOf, {});
  expect(row?.type).toBe(`Enum8(${INTENTIONS.map((name, severity) => `'${name}' = ${severity}`).join(", ")})`);
});
