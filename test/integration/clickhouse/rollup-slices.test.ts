import { sliceObservations } from "@noisefloor/clickhouse/rollups/slices.ts";
import { fillRollup, readRollupView } from "@noisefloor/clickhouse/rollups/views.ts";
import { DERIVED_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mixedObservations } from "../../support/builders/mixed-observations.ts";
import { numberOf } from "../../support/worlds/backups.ts";
import { storeContents } from "../../support/worlds/store-contents.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.parse("2026-11-10T12:00:00Z");
const MOST = 60;

let world: World;
beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([makeTag("worm", "malicious"), makeTag("crawler", "benign")]);
  await world.store(mixedObservations(NOW, 0, 600));
  // All of one address: no cut can part them.
  await world.store(
    Array.from({ length: 3 * MOST }, (_, number) => ({
      observation_id: `same-${number}`,
      observed_at: new Date(NOW - number * 1_000).toISOString(),
      sensor_id: "sensor-1",
      source_ip: "45.3.3.3",
      tags: ["worm"],
    })),
  );
});
afterAll(() => world.close());

test("each observation is in exactly one slice, and slices have about as many as asked for", async () => {
  const slices = await sliceObservations(world.client, MOST);
  const counts = await Promise.all(
    slices.map(({ where }) => numberOf(world, `SELECT count() FROM observations WHERE ${where}`)),
  );
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(await numberOf(world, "SELECT count() FROM observations"));
  const any = slices.map(({ where }) => `(${where})`).join(" OR ");
  expect(await numberOf(world, `SELECT count() FROM observations WHERE NOT (${any})`)).toBe(0);
  expect(slices.length).toBeGreaterThan(8);
  expect(counts.filter((count) => count > 2 * MOST)).toEqual([expect.any(Number)]);
  expect(new Set(slices.map(({ month }) => month.from)).size).toBe(2);
});

test("rollups that are filled slice by slice have the content that the views gave them", async () => {
  const before = await storeContents(world.client);
  const slices = await sliceObservations(world.client, MOST);
  for (const table of DERIVED_TABLES) {
    const view = await readRollupView(world.client, table);
    await world.client.command({ query: `TRUNCATE TABLE ${table}` });
    for (const { where } of slices) {
      await fillRollup(world.client, { table, view, where });
    }
  }
  expect(await storeContents(world.client)).toEqual(before);
});

test("a slice is read alone: the server skips what other slices have", async () => {
  const [, second] = await sliceObservations(world.client, MOST);
  const result = await world.client.query({
    query: `EXPLAIN indexes = 1 SELECT count() FROM observations FINAL
      SETTINGS additional_table_filters = {'${world.connection.database}.observations': '${second?.where.replaceAll("'", "\\'")}'}`,
    format: "TabSeparated",
  });
  const plan = await result.text();
  expect(plan).toContain("PrimaryKey");
  expect(plan).toMatch(/Condition: .*source_ip in \[/);
});
