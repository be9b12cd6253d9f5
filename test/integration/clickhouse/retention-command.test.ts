import { runKeysCreate } from "@noisefloor/cli/commands/access/keys.ts";
import { runWorkspacesWrite } from "@noisefloor/cli/commands/access/workspaces.ts";
import { runDeadLettersList } from "@noisefloor/cli/commands/dead-letters/list-and-show.ts";
import { runMigrate } from "@noisefloor/cli/commands/store/migrate.ts";
import { runRetention } from "@noisefloor/cli/commands/store/retention.ts";
import { openStore } from "@noisefloor/cli/store/prepare-store.ts";
import { openRetentionCache } from "@noisefloor/clickhouse/caches/retention-cache.ts";
import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { applyRetention, readRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { countOlderRows, readTableStatistics } from "@noisefloor/clickhouse/storage/table-statistics.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
import { commandOver, type RunCommand } from "../../support/worlds/commands.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const DAY_MS = 86_400_000;
let world: World;

beforeEach(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([makeTag("known", "malicious")]);
  const days = [0, 5, 40, 60];
  await world.store(
    days.map((day, index) => ({
      observed_at: new Date(NOW - day * DAY_MS - 60_000).toISOString(),
      sensor_id: "s",
      source_ip: `45.0.0.${index}`,
      tags: ["known"],
    })),
  );
});
afterEach(() => world.close());

const answerSchema = z.object({
  retention_days: z.int(),
  asked_days: z.int(),
  tables: z.array(
    z.object({
      table: z.string(),
      rows: z.int(),
      bytes_on_disk: z.int(),
      from: z.string().nullable(),
      to: z.string().nullable(),
      retention_days: z.int().nullable(),
      older_rows: z.int(),
    }),
  ),
});

async function retention(days?: number, json = true, command: RunCommand = commandOver(world)): Promise<string> {
  await runRetention({ json, days }, command);
  return command.lines.join("\n");
}

test("the command shows for every table its rows, its time span, its size and its retention", async () => {
  const { tables, retention_days } = answerSchema.parse(JSON.parse(await retention()));
  expect(retention_days).toBe(100);
  expect(tables.find(({ table }) => table === "observations")).toMatchObject({
    rows: 4,
    bytes_on_disk: expect.any(Number),
    from: `${new Date(NOW - 60 * DAY_MS - 60_000).toISOString().slice(0, 19)}Z`,
    to: `${new Date(NOW - 60_000).toISOString().slice(0, 19)}Z`,
    retention_days: 100,
    older_rows: 0,
  });
  const forEver = tables.filter((table) => table.retention_days === null).map(({ table }) => table);
  expect(forEver).toEqual(expect.arrayContaining(["credentials", "tags", "network_lists"]));
  expect(tables.find(({ table }) => table === "dead_letters")).toMatchObject({ rows: 0, from: null, to: null });
});

test("what a shorter retention would delete is counted, and nothing is changed", async () => {
  const { tables } = answerSchema.parse(JSON.parse(await retention(30)));
  const older = Object.fromEntries(tables.map(({ table, older_rows }) => [table, older_rows]));
  // An address has a row for its tag, and one for any sighting; and so has an hour.
  expect(older).toMatchObject({ observations: 2, tag_activity_hourly: 4, tag_addresses: 2, address_tags: 4, tags: 0 });
  expect(await retention(30, false)).toMatch(
    /RETENTION_DAYS=30 would delete for good:\n {2}address_facets: 4 rows\n.* {2}address_tags: 4 rows\n/s,
  );
  expect(await retention(30, false)).toContain("set RETENTION_CONFIRM=30 for a service");
  expect(await retention(70, false)).not.toContain("RETENTION_CONFIRM");
  expect(await retention(70, false)).toContain("RETENTION_DAYS=70 would delete nothing that is stored now.");
  expect(await retention(200, false)).toContain("RETENTION_DAYS=200 would keep new data 100 days longer");
  expect(await retention(undefined, false)).toContain("Nothing is older than the 100 days");
  expect(await readRetention(world.client)).toBe(100);
});

test("a table that an update added gets the retention of the others at the next start of a service", async () => {
  await world.client.command({
    query: "ALTER TABLE dead_letter_retries MODIFY TTL toDateTime(retried_at, 'UTC') + toIntervalDay(30)",
  });
  const { settings, log } = commandOver(world);
  const kept = async () => {
    const { tables } = answerSchema.parse(JSON.parse(await retention()));
    return tables.find(({ table }) => table === "dead_letter_retries")?.retention_days;
  };
  expect(await kept()).toBe(30);
  const store = await openStore({ settings, log });
  await store.close();
  expect(await kept()).toBe(100);
});

test("a RETENTION_DAYS that differs from the current retention is reported and not applied", async () => {
  const command = commandOver(world);
  const wanting = { ...command, settings: { ...command.settings, retentionDays: 365 } };
  expect(await retention(undefined, false, wanting)).toContain(
    "RETENTION_DAYS=365 would keep new data 265 days longer",
  );
  expect(await readRetention(world.client)).toBe(100);
});

test("an interrupted change of the retention is completed by the next start", async () => {
  const alone = "ALTER TABLE observations MODIFY TTL toDateTime(observed_at, 'UTC') + toIntervalDay(80)";
  await world.client.command({ query: alone });
  const { settings, log } = commandOver(world);
  const store = await openStore({ settings, log });
  await store.close();
  expect(store.retentionDays).toBe(80);
  expect(await applyRetention(world.client, 80), "tables that an interruption left behind").toEqual([]);
});

const storedRows = defineQuery({
  name: "test-stored-rows",
  sql: "SELECT (SELECT count() FROM observations) AS rows, (SELECT count() FROM tags FINAL) AS tags",
  params: z.object({}),
  row: z.object({ rows: z.int(), tags: z.int() }),
});

test("a shorter retention is set immediately, however long the server takes to delete what is older", async () => {
  await world.client.command({ query: "SYSTEM STOP MERGES observations" });
  await applyRetention(world.client, 30);
  expect(await readRetention(world.client)).toBe(30);
  expect(await run(world.client, storedRows, {})).toEqual([{ rows: 4, tags: 1 }]);
  await world.client.command({ query: "SYSTEM START MERGES observations" });
  await eventually(async () => expect(await run(world.client, storedRows, {})).toEqual([{ rows: 2, tags: 1 }]));
});

test("sizes are shown even if counting exceeds the server's limits", async () => {
  const limited = connect(
    { ...world.connection, url: `${world.connection.url}/?ch_force_primary_key=1` },
    "noisefloor",
  );
  onTestFinished(() => limited.close());
  expect(await countOlderRows(limited, 30)).toBeUndefined();
  const observations = (await readTableStatistics(limited)).find(({ table }) => table === "observations");
  expect(observations).toMatchObject({ rows: 4, retentionDays: 100, from: undefined });
});

test("a command that only reads adds nothing, and reports an older schema with what to do", async () => {
  const list = { json: false, limit: 10, includeDone: false };
  await retention();
  await runDeadLettersList(list, commandOver(world));
  expect(await run(world.client, storedRows, {}), "no starter tags").toEqual([{ rows: 4, tags: 1 }]);
  await world.client.command({ query: "DELETE FROM schema_migrations WHERE name = 'dead_letters'" });
  const error = /migration dead_letters has not been applied: run "noisefloor migrate"/;
  await expect(retention()).rejects.toThrow(error);
  await expect(runDeadLettersList(list, commandOver(world))).rejects.toThrow(error);
});

test("a command that writes neither migrates, nor changes the retention, nor adds tags", async () => {
  const command = commandOver(world);
  const wanting = { ...command, settings: { ...command.settings, retentionDays: 365 } };
  await runWorkspacesWrite("default", { isNew: true }, wanting);
  await runKeysCreate("default", { json: true, label: "" }, wanting);
  expect(command.lines.join("\n")).toContain('"key":');
  expect(await readRetention(world.client)).toBe(100);
  expect(await run(world.client, storedRows, {}), "no starter tags").toEqual([{ rows: 4, tags: 1 }]);
  await world.client.command({ query: "DELETE FROM schema_migrations WHERE name = 'access'" });
  await expect(runKeysCreate("default", { json: true, label: "" }, wanting)).rejects.toThrow(
    /migration access has not been applied: run "noisefloor migrate"/,
  );
});

test("a retention that would delete more than a tenth is not set unless that is confirmed", async () => {
  const { settings, log, ...rest } = commandOver(world);
  const open = (retentionDays: number, retentionConfirm?: number) =>
    openStore({ settings: { ...settings, retentionDays, retentionConfirm }, log });
  const error =
    /^RETENTION_DAYS=30 instead of the 100 days that hold now would delete for good 2 of 4 rows of observations \(\S+Z to \S+Z\)\. Set RETENTION_CONFIRM=30 if/;
  await expect(open(30)).rejects.toThrow(error);
  await expect(open(30, 29)).rejects.toThrow(error);
  await (await open(70)).close();
  expect(await readRetention(world.client), "and deletes nothing").toBe(70);
  const migrating = { settings: { ...settings, retentionDays: 30 }, log, ...rest };
  await expect(runMigrate({ yes: false }, migrating)).rejects.toThrow(
    /Nothing was changed: pass --yes or set RETENTION_CONFIRM=30 if/,
  );
  await expect(runMigrate({ yes: false }, { ...migrating, ask: async () => false })).rejects.toThrow("nothing was");
  expect(await readRetention(world.client)).toBe(70);
  await runMigrate({ yes: true, json: true }, migrating);
  expect(JSON.parse(rest.lines.join("\n"))).toEqual({ migrations: [], tags: 0, lists: 0, retention_days: 30 });
  expect(await readRetention(world.client)).toBe(30);
  await (await open(4, 4)).close();
  expect(await readRetention(world.client)).toBe(4);
});

test("a running intake rejects observations older than a retention that was shortened meanwhile", async () => {
  const retention = await openRetentionCache(world.client, { intervalMs: 50 });
  const ingest = await ingestOf(world, undefined, () => NOW, [], createMetrics(), retention.current);
  const app = await makeApp(INGEST_OPERATIONS, ingest.register);
  onTestFinished(async () => {
    retention.stop();
    await app.close();
  });
  const observed_at = new Date(NOW - 40 * DAY_MS).toISOString();
  const payload = JSON.stringify({ observed_at, sensor_id: "s", source_ip: "45.0.1.1", tags: ["known"] });
  const post = async () => (await app.inject({ method: "POST", url: "/v1/observations", payload })).json();
  expect(await post()).toMatchObject({ accepted: 1 });
  await applyRetention(world.client, 30);
  await eventually(async () => expect(await post()).toMatchObject({ reasons: { "older-than-retention": 1 } }));
});
