import { setTimeout as sleep } from "node:timers/promises";
import { runRestore } from "@noisefloor/cli/commands/backup/restore.ts";
import type { RestoreOptions } from "@noisefloor/clickhouse/restore/restore.ts";
import { migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { applyRetention, readRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { readTableStatistics } from "@noisefloor/clickhouse/storage/table-statistics.ts";
import { restoreStore } from "@noisefloor/clickhouse-cluster/store.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { atVolume } from "../support/volume.ts";
import {
  type BackupServer,
  backUpWorld,
  contentsOf,
  numberOf,
  readScratchDatabases,
  restoreWorld,
  startBackupServer,
} from "../support/worlds/backups.ts";
import { commandOver } from "../support/worlds/commands.ts";
import { MIGRATIONS } from "../support/worlds/databases.ts";
import { createWorld, makeTag, type World } from "../support/worlds/world.ts";

const NOW = Date.now();
const DAY_MS = 86_400_000;
const tag = makeTag("known", "malicious");

let server: BackupServer;
let world: World;
/** Another store on the same server, into which backups are restored. */
let other: World;

beforeAll(async () => {
  server = await startBackupServer();
});
afterAll(async () => {
  await server.close();
});
beforeEach(async () => {
  world = await createWorld(Date.now, { server: server.connection });
  other = await createWorld(Date.now, { server: server.connection });
  await world.addTags([tag]);
});
afterEach(async () => {
  await world.close();
  await other.close();
});

async function command(of: World, query: string): Promise<void> {
  await of.client.command({ query });
}

const seenAt = (times: readonly number[]) =>
  times.map((time, index) => ({
    observation_id: `seen-${index}`,
    observed_at: new Date(time).toISOString(),
    sensor_id: "s",
    source_ip: `45.0.0.${index}`,
    tags: ["known"],
  }));

const RAW = "SELECT count() FROM observations";

test("a user's own views and tables in a backup neither fire, nor read, nor prevent the restore", async () => {
  const theirs = `${world.connection.database}_theirs`;
  await command(world, `CREATE DATABASE ${theirs}`);
  await command(world, `CREATE TABLE ${theirs}.seen (ip IPv4) ENGINE = MergeTree ORDER BY ip`);
  await command(world, `CREATE MATERIALIZED VIEW own_mv TO ${theirs}.seen AS SELECT source_ip AS ip FROM observations`);
  await command(world, "CREATE TABLE own_null (x UInt8) ENGINE = Null");
  await world.store(seenAt([NOW - 3_000, NOW - 2_000, NOW - 1_000]));
  const before = await contentsOf(world);
  await backUpWorld(world, server.place("theirs"));

  await restoreWorld(other, server.place("theirs"));
  expect(await contentsOf(other)).toEqual(before);
  expect(await numberOf(world, `SELECT count() FROM ${theirs}.seen`)).toBe(3);
  // As on another machine, where the view's target table has never existed.
  await command(world, `DROP DATABASE ${theirs} SYNC`);
  await restoreWorld(other, server.place("theirs"));
  expect(await contentsOf(other)).toEqual(before);
});

// Forty days ago is always another month, whose part then has expired as a whole; after one day only some rows have.
test.each(atVolume([40], [1, 40]))(
  "observations that expired since the backup are reported, and kept with a longer retention than %i days",
  async (days) => {
    await applyRetention(world.client, days);
    const expiresAt = Date.now() + 6_000;
    await world.store(seenAt([Date.now(), ...[1, 2, 3].map((many) => expiresAt - days * DAY_MS - many)]));
    expect(await numberOf(world, RAW)).toBe(4);
    await backUpWorld(world, server.place(`aged-${days}`));
    // The server compares ages in whole seconds.
    await sleep(expiresAt - Date.now() + 1_500);

    let merged = 0;
    const merge = async () => {
      const [copy] = (await readScratchDatabases(other)).filter((name) => name.startsWith(other.connection.database));
      await command(other, `OPTIMIZE TABLE ${copy}.observations FINAL`);
      merged++;
    };
    const options: RestoreOptions = {
      migrations: MIGRATIONS,
      replace: true,
      retentionDays: 60,
      signal: new AbortController().signal,
      onProgress: () => void merge().catch(() => {}),
    };
    const restored = await restoreStore(
      other.connection,
      { kind: "file", path: server.place(`aged-${days}`) },
      options,
    );
    expect(restored).toMatchObject({ observations: 4, expired: 0, retentionDays: 60, from: expect.any(Number) });
    await command(other, "OPTIMIZE TABLE observations FINAL");
    expect(await numberOf(other, RAW), `after ${merged} merges while it was read`).toBe(4);
    expect(await readRetention(other.client)).toBe(60);

    const said = commandOver(other);
    await runRestore(server.place(`aged-${days}`), { replace: true }, said);
    expect(said.lines[0]).toMatch(/^Restored 4 observations from .* to .*, kept for \d+ days\.$/);
    expect(said.lines[0]).toContain(`kept for ${days} days.`);
    expect(said.lines[1]).toMatch(/^3 of them are older than that and are deleted with the next merges/);
    expect(said.lines[2]).toContain(`--replace and RETENTION_DAYS=${days + 2},`);
    await command(other, "OPTIMIZE TABLE observations FINAL");
    expect(await numberOf(other, RAW), "they had expired").toBe(1);
  },
);

test("a restore creates tables that the store has lost, and until then no service starts", async () => {
  await world.store(seenAt([NOW - 1_000]));
  const before = await contentsOf(world);
  await backUpWorld(world, server.place("lost"));
  await command(world, "DROP TABLE observations SYNC");
  await command(world, "DROP TABLE tag_activity_hourly SYNC");
  await command(world, "DROP VIEW address_tags_mv SYNC");
  await expect(migrate(world.connection, MIGRATIONS)).rejects.toThrow(
    /^the database has lost observations, tag_activity_hourly, address_tags_mv: restore a backup/,
  );
  await expect(readTableStatistics(world.client)).rejects.toThrow(/^a table is lost: /);
  await restoreWorld(world, server.place("lost"));
  expect(await contentsOf(world)).toEqual(before);
  await world.store(seenAt([NOW, NOW]));
  expect(await numberOf(world, "SELECT uniqExact(source_ip) FROM address_tags"), "the views are there").toBe(2);
});

test("observations are counted once each, and a restore adds no rows of its own", async () => {
  await command(world, "SYSTEM STOP MERGES observations");
  const twice = seenAt([NOW - 2_000, NOW - 1_000]);
  await world.store(twice);
  await world.store(twice);
  expect(await numberOf(world, RAW)).toBe(4);
  await backUpWorld(world, server.place("twice"));
  await command(world, "SYSTEM START MERGES observations");
  expect(await restoreWorld(other, server.place("twice"))).toMatch(/^Restored 2 observations /);
  expect(await numberOf(other, RAW)).toBeLessThanOrEqual(4);
});
