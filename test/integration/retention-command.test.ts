import { runRetention } from "@noisefloor/cli/commands/retention.ts";
import { openStore } from "@noisefloor/cli/store.ts";
import { readRetention } from "@noisefloor/clickhouse/retention.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { commandOver, type RunCommand } from "../support/commands.ts";
import { createWorld, makeTag, type World } from "../support/world.ts";

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

test("every table tells what it holds from when to when, its size, and for how long", async () => {
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
  expect(forEver).toEqual(expect.arrayContaining(["api_keys", "tags", "network_lists"]));
  expect(tables.find(({ table }) => table === "dead_letters")).toMatchObject({ rows: 0, from: null, to: null });
});

test("what a shorter retention would delete is counted, and nothing is changed", async () => {
  const { tables } = answerSchema.parse(JSON.parse(await retention(30)));
  const older = Object.fromEntries(tables.map(({ table, older_rows }) => [table, older_rows]));
  expect(older).toMatchObject({ observations: 2, tag_activity_hourly: 2, address_daily: 2, address_tags: 2, tags: 0 });
  expect(await retention(30, false)).toMatch(/RETENTION_DAYS=30 would delete for good:\n {2}address_daily: 2 rows\n/);
  expect(await retention(70, false)).toContain("RETENTION_DAYS=70 would delete nothing that is stored now.");
  expect(await retention(200, false)).toContain("RETENTION_DAYS=200 would keep new data 100 days longer");
  expect(await retention(undefined, false)).toContain("Nothing is older than the 100 days");
  expect(await readRetention(world.client)).toBe(100);
});

test("a table that came with an update keeps its rows as long as all the others, once a service has started", async () => {
  await world.client.command({
    query: "ALTER TABLE dead_letter_verdicts MODIFY TTL toDateTime(judged_at, 'UTC') + toIntervalDay(30)",
  });
  const { settings, log } = commandOver(world);
  const kept = async () => {
    const { tables } = answerSchema.parse(JSON.parse(await retention()));
    return tables.find(({ table }) => table === "dead_letter_verdicts")?.retention_days;
  };
  expect(await kept()).toBe(30);
  const store = await openStore(settings, log, "set");
  await store.close();
  expect(await kept()).toBe(100);
});

test("a RETENTION_DAYS that differs from what holds is told of and not applied", async () => {
  const command = commandOver(world);
  const wanting = { ...command, settings: { ...command.settings, retentionDays: 365 } };
  expect(await retention(undefined, false, wanting)).toContain(
    "RETENTION_DAYS=365 would keep new data 265 days longer",
  );
  expect(await readRetention(world.client)).toBe(100);
});
