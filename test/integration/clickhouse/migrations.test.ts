import { randomUUID } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClickHouseClient, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { migrate, readMigrations } from "@noisefloor/clickhouse/schema/migrate.ts";
import { applyRetention } from "@noisefloor/clickhouse/schema/retention.ts";
import { TABLES, TRANSIENT_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
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

/** Where the addresses of the observations are in `tag_samples`, and where they should be. */
const tagSamples = defineQuery({
  name: "test-tag-samples",
  sql: `WITH places AS (
      SELECT DISTINCT CAST(tag_id, 'UUID') AS tag, dataset, workspace_id, hour, arrayJoin(addresses) AS source_ip,
        hash_from
      FROM tag_samples),
    bands AS (
      SELECT hash_from, leadInFrame(toUInt64(hash_from), 1, ${2 ** 32})
        OVER (ORDER BY hash_from ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS end
      FROM (SELECT DISTINCT hash_from FROM tag_samples))
    SELECT
      (SELECT (count(), groupBitXor(cityHash64(tag, dataset, workspace_id, hour, source_ip))) FROM places)
        = (SELECT (count(), groupBitXor(cityHash64(*))) FROM
          (SELECT DISTINCT arrayJoin(tags) AS tag, dataset, workspace_id, toStartOfHour(observed_at, 'UTC'), source_ip
            FROM observations)) AS areAll,
      (SELECT count() FROM bands) AS bands,
      (SELECT countIf(hash NOT BETWEEN hash_from AND end - 1) FROM
        (SELECT intHash32(toUInt32(source_ip)) AS hash, hash_from, end
          FROM places JOIN bands USING (hash_from))) AS misplaced,
      (SELECT count() FROM tag_samples) AS rows`,
  params: z.object({}),
  row: z.object({ areAll: z.int(), bands: z.int(), misplaced: z.int(), rows: z.int() }),
});
const runningLate = defineQuery({
  name: "test-running",
  sql: "SELECT query_id AS id FROM system.processes WHERE query_id = {id:String}",
  params: z.object({ id: z.string() }),
  row: z.object({ id: z.string() }),
});
/** @returns how many rows they are in. */
async function expectSamples(): Promise<number> {
  const { rows, ...samples } = await runForOne(client, tagSamples, {});
  expect(samples).toEqual({ areAll: 1, bands: 16, misplaced: 0 });
  return rows;
}

test("an update fills a rollup that it adds from what the database has", async () => {
  const files = (await readdir(folder)).sort();
  const update = files.filter((file) => file >= "0034");
  for (const file of update) await rm(join(folder, file));
  await migrate(connection(), folder);
  const [tag, other] = [randomUUID(), randomUUID()];
  const rows = (["global", "community", "personal"] as const).flatMap((dataset, index) =>
    [5_000, 3_000].map((age) => ({
      observation_id: `${dataset}-${age}`,
      observed_at: new Date(Date.now() - age).toISOString(),
      dataset,
      workspace_id: dataset === "personal" ? "ours" : "",
      sensor_id: "s",
      source_ip: `45.0.0.${index}`,
      tags: age === 5_000 ? [tag] : [tag, other],
    })),
  );
  const insert = (values = rows) =>
    client.insert({
      table: "observations",
      values,
      format: "JSONEachRow",
      clickhouse_settings: { date_time_input_format: "best_effort" },
    });
  // Enough that some have hash values of each band.
  const insertMany = () =>
    client.command({
      query: `INSERT INTO observations (observation_id, observed_at, dataset, sensor_id, source_ip, tags)
        SELECT toString(number), now() - number % 100000, 'global', 's', toIPv4(754974720 + number), [{tag:UUID}]
        FROM numbers(40000)`,
      query_params: { tag },
    });
  await insert();
  await insertMany();
  // Began before there is a view for its row, and ends after everything else.
  const late = client.command({
    query: `INSERT INTO observations (observation_id, observed_at, dataset, sensor_id, source_ip, tags)
      SELECT 'late', now(), 'global', 's', toIPv4('46.0.0.1'), [{tag:UUID}] WHERE sleep(3) = 0`,
    query_params: { tag },
    query_id: `late-${database}`,
  });
  await eventually(async () => expect(await run(client, runningLate, { id: `late-${database}` })).toHaveLength(1));
  expect(await migrate(connection(), MIGRATIONS)).toHaveLength(update.length);
  await late;
  const expected = defineQuery({
    name: "test-scope-tags",
    sql: `SELECT toString(source_ip) AS ip, toString(tag_id) AS tag, toUnixTimestamp64Milli(max(last_seen)) AS seen
      FROM scope_tags GROUP BY ip, tag ORDER BY ip, tag`,
    params: z.object({}),
    row: z.object({ ip: z.string(), tag: z.string(), seen: z.int() }),
  });
  const stored = await run(client, expected, {});
  const seen = Date.parse(rows[1]?.observed_at ?? "");
  expect(stored.map(({ ip, tag: id }) => [ip, id])).toEqual(
    ["45.0.0.1", "45.0.0.2"].flatMap((ip) => [tag, other].sort().map((id) => [ip, id])),
  );
  expect(stored.every((row) => Math.abs(row.seen - seen) < 1_000)).toBe(true);
  const filled = await expectSamples();
  await insert();
  await insertMany();
  expect(await expectSamples(), "the view adds the same to what was filled in").toBeGreaterThan(filled);
  expect(await run(client, expected, {}), "the same again changes nothing").toEqual(stored);
  const later = rows.slice(2, 3).map((row) => ({ ...row, observation_id: "later", source_ip: "45.0.0.9" }));
  await insert(later);
  const added = await run(client, expected, {});
  expect(
    added.filter(({ ip }) => ip === "45.0.0.9").map(({ tag: id }) => id),
    "the view fills in more",
  ).toEqual([tag]);
  await expectSamples();
});

test("every migration can be applied twice without a change", async () => {
  await migrate(connection(), MIGRATIONS);
  const before = withoutIds(await schemaNow());
  for (const { sql } of await readMigrations(MIGRATIONS)) await client.command({ query: sql });
  expect(withoutIds(await schemaNow())).toEqual(before);
});

test("six processes that start at once all end with the same schema", async () => {
  await Promise.all(Array.from({ length: 6 }, () => migrate(connection(), MIGRATIONS)));
  expect(await migrate(connection(), MIGRATIONS)).toEqual([]);
});

test("a migration that changed since it was applied is an error with its name, and nothing is applied", async () => {
  await migrate(connection(), folder);
  const file = join(folder, "0006_observations.sql");
  await writeFile(file, `${await readFile(file, "utf8")}-- changed`);
  await writeFile(join(folder, "9000_new.sql"), "CREATE TABLE IF NOT EXISTS new (x UInt8) ENGINE = Memory");
  await expect(migrate(connection(), folder)).rejects.toThrow(/0006_observations has changed/);
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
  const withTtl = (await schemaNow()).filter(({ name, sql }) => / TTL /.test(sql) && !TRANSIENT_TABLES.includes(name));
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
