import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "@noisefloor/cli/store/prepare-store.ts";
import { openPreparedStore } from "@noisefloor/cli/store/store.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { type EmbeddedClickHouse, startEmbedded } from "@noisefloor/clickhouse/embedded/embedded.ts";
import { applyDurability } from "@noisefloor/clickhouse/schema/durability.ts";
import { AGEING_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { commandOver } from "../../support/worlds/commands.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const TABLES = AGEING_TABLES.map(({ name }) => name).sort();

/** A server of its own, as the writes of other tests would be counted. */
let server: EmbeddedClickHouse;
let dataDir: string;
let world: World;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "noisefloor-durable-"));
  server = await startEmbedded(dataDir);
});
beforeEach(async () => {
  world = await createWorld(() => NOW, { server: server.connection });
  await world.addTags([makeTag("worm", "malicious")]);
});
afterEach(() => world.close());
afterAll(async () => {
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const syncCounts = defineQuery({
  name: "test-sync-counts",
  sql: `SELECT toUInt32(sumIf(value, event = 'FileSync')) AS files, toUInt32(sumIf(value, event = 'DirectorySync')) AS folders
    FROM system.events`,
  params: z.object({}),
  row: z.object({ files: z.int(), folders: z.int() }),
});

/** The number of files and folders that were synced before the response. */
async function synced(work: () => Promise<unknown>) {
  const before = (await run(world.client, syncCounts, {}))[0] ?? { files: 0, folders: 0 };
  await work();
  const after = (await run(world.client, syncCounts, {}))[0] ?? { files: 0, folders: 0 };
  return { files: after.files - before.files, folders: after.folders - before.folders };
}

const seen = {
  observed_at: new Date(NOW - 60_000).toISOString(),
  sensor_id: "s",
  source_ip: "45.0.0.1",
  tags: ["worm"],
};
const accepted = () => world.store([seen]);
const rejected = () => world.store([{ ...seen, source_ip: "10.0.0.1" }]);
const merge = () => world.client.command({ query: "OPTIMIZE TABLE observations FINAL" });

const NOTHING = { files: 0, folders: 0 };

test("a durable intake syncs observations, their rollups, dead letters and merged parts to the disk", async () => {
  expect(await synced(accepted)).toEqual(NOTHING);
  expect((await applyDurability(world.client, true)).sort()).toEqual(TABLES);
  expect(await applyDurability(world.client, true), "once").toEqual([]);
  const stored = await synced(accepted);
  // The observations and four rollups, each part of several files.
  expect(stored.folders).toBeGreaterThanOrEqual(5);
  expect(stored.files).toBeGreaterThan(10);
  expect((await synced(rejected)).folders).toBeGreaterThanOrEqual(1);
  expect((await synced(merge)).files).toBeGreaterThan(1);

  expect((await applyDurability(world.client, false)).sort()).toEqual(TABLES);
  expect(await synced(accepted)).toEqual(NOTHING);
  expect(await synced(rejected)).toEqual(NOTHING);
});

test("a service sets durability; commands and services without the setting leave it alone", async () => {
  const { settings, log } = commandOver(world);
  const changedBy = async (isDurable: boolean | undefined, opener: "service" | "command") => {
    const wanting = { ...settings, isDurable };
    const store = opener === "service" ? await openStore({ settings: wanting, log }) : await openPreparedStore(wanting);
    await store.close();
    // Checks also that an unchanged setting leaves the tables alone.
    return synced(accepted).then(({ files }) => (files > 0 ? "durable" : "not durable"));
  };
  expect(await changedBy(true, "command")).toBe("not durable");
  expect(await changedBy(true, "service")).toBe("durable");
  expect(await changedBy(undefined, "service")).toBe("durable");
  expect(await changedBy(false, "service")).toBe("not durable");
});
