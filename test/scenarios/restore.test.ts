import { randomUUID } from "node:crypto";
import { runRestore } from "@noisefloor/cli/commands/backup/restore.ts";
import { readCredentials, revokeCredential } from "@noisefloor/clickhouse/access/credentials.ts";
import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { FACETS } from "@noisefloor/clickhouse/facets/facets.ts";
import type { RestoreOptions, RestoreStep } from "@noisefloor/clickhouse/restore/restore.ts";
import { applyDurability } from "@noisefloor/clickhouse/schema/durability.ts";
import { assertCurrentSchema, migrate, readMigrations } from "@noisefloor/clickhouse/schema/migrate.ts";
import { applyRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { restoreStore } from "@noisefloor/clickhouse-cluster/store.ts";
import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { observation } from "../support/builders/observation.ts";
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
import { freshKafka } from "../support/worlds/consuming-world.ts";
import { MIGRATIONS } from "../support/worlds/databases.ts";
import { createWorld, makeTag, type World } from "../support/worlds/world.ts";

const NOW = Date.now();
const now = () => NOW;
const DAY_MS = 86_400_000;
const tag = makeTag("known", "malicious");

let server: BackupServer;
/** The source of the backup that all tests share; no test changes it. */
let world: World;
let whole: string;
let before: unknown;
/** Another store on the same server, into which backups are restored. */
let other: World;

beforeAll(async () => {
  server = await startBackupServer();
  world = await createWorld(now, { server: server.connection });
  await world.addTags([tag]);
  await world.store(Array.from({ length: 60 }, (_, index) => seen(index, index % 10)));
  await applyRetention(world.client, 60);
  // A user's own table, and a view that keeps its rows in a table with a name like .inner_id.…
  await world.client.command({ query: "CREATE TABLE notes (x UInt8) ENGINE = MergeTree ORDER BY x" });
  await world.client.command({ query: "INSERT INTO notes VALUES (1)" });
  await world.client.command({
    query:
      "CREATE MATERIALIZED VIEW mine ENGINE = MergeTree ORDER BY source_ip POPULATE AS SELECT source_ip FROM observations",
  });
  whole = server.place("whole");
  await backUpWorld(world, whole);
  before = await contentsOf(world);
});
afterAll(async () => {
  await world.close();
  await server.close();
});
beforeEach(async () => {
  other = await createWorld(now, { server: server.connection });
});
afterEach(() => other.close());

const seen = (index: number, day: number) =>
  observation(`45.0.${day}.${index % 200}`, NOW - day * DAY_MS - 60_000, {
    tags: ["known"],
    http: { path: `/${index % 7}` },
  });

async function command(of: World, query: string): Promise<void> {
  await of.client.command({ query });
}

const optionsOf = (options: Partial<RestoreOptions>): RestoreOptions => ({
  migrations: MIGRATIONS,
  replace: true,
  signal: new AbortController().signal,
  ...options,
});

test("a user's own tables are left alone, in the store and in the backup, and no observation is rewritten", async () => {
  await command(other, "CREATE TABLE own (x UInt8) ENGINE = MergeTree ORDER BY x");
  await command(other, "INSERT INTO own VALUES (7)");
  await restoreWorld(other, whole);
  expect(await contentsOf(other)).toEqual(before);
  expect(await numberOf(other, "SELECT sum(x) FROM own")).toBe(7);
  const theirs = "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name IN ('notes', 'mine')";
  expect(await numberOf(other, theirs)).toBe(0);
  const mutations =
    "SELECT count() FROM system.mutations WHERE database = currentDatabase() AND table = 'observations'";
  expect(await numberOf(other, mutations)).toBe(0);
});

test("a table of the store that a user has altered is replaced by the backup's", async () => {
  await command(other, "ALTER TABLE tags ADD COLUMN mine String");
  await restoreWorld(other, whole);
  expect(await contentsOf(other)).toEqual(before);
  expect(
    await numberOf(other, "SELECT count() FROM system.columns WHERE name = 'mine' AND database = currentDatabase()"),
  ).toBe(0);
});

test("a user's own view on the store still works after a restore, on the restored data", async () => {
  await command(
    other,
    "CREATE MATERIALIZED VIEW own_view ENGINE = MergeTree ORDER BY source_ip AS SELECT source_ip FROM observations",
  );
  await restoreWorld(other, whole);
  await other.catalogue.refresh();
  await other.store([seen(1, 0), seen(2, 0)]);
  expect(await numberOf(other, "SELECT count() FROM own_view")).toBe(2);
});

test("parts are merged again after a restore", async () => {
  await restoreWorld(other, whole);
  await command(other, "OPTIMIZE TABLE observations FINAL");
  expect(await contentsOf(other)).toEqual(before);
});

test("a store stays as durable as it was, whatever the backup's was", async () => {
  await applyDurability(other.client, true);
  await restoreWorld(other, whole);
  expect(await applyDurability(other.client, true), "tables that were not durable").toEqual([]);
});

test("after an interrupted restore no service starts until a restore has succeeded, which needs no --replace", async () => {
  const lose = async (step: RestoreStep) => {
    if (step === "swapping tables")
      await command(other, `DROP TABLE ${other.connection.database}_restoring.dead_letters SYNC`);
  };
  const interrupted = optionsOf({ onStep: lose });
  await expect(restoreStore(other.connection, { kind: "file", path: whole }, interrupted)).rejects.toThrow(
    /^the restore was interrupted while it swapped tables, so that the data are mixed: run it again\. /,
  );
  const error = /a restore is running or was interrupted, .* run "noisefloor restore" again/;
  await expect(migrate(other.connection, MIGRATIONS)).rejects.toThrow(error);
  await expect(assertCurrentSchema(other.client, await readMigrations(MIGRATIONS))).rejects.toThrow(error);
  await expect(backUpWorld(other, server.place("mixed"))).rejects.toThrow(/a restore is running or was interrupted/);
  expect(await readScratchDatabases(other)).toEqual([]);

  await restoreWorld(other, whole, false);
  expect(await contentsOf(other)).toEqual(before);
  expect(await migrate(other.connection, MIGRATIONS)).toEqual([]);
});

test("no part is merged while the parts are checked, or a large intact backup would count as damaged", async () => {
  let merging: Promise<unknown> | undefined;
  const merge = async () => {
    const [copy] = (await readScratchDatabases(other)).filter((name) => name.startsWith(other.connection.database));
    await command(other, `OPTIMIZE TABLE ${copy}.observations FINAL`);
  };
  let isChecking = false;
  const options = optionsOf({
    onStep: (step) => {
      isChecking = step === "checking";
    },
    onProgress: () => {
      if (isChecking) merging ??= merge().catch(String);
    },
  });
  await restoreStore(other.connection, { kind: "file", path: whole }, options);
  expect(await merging).toContain("Cancelled merging parts");
});

/** `address_tags` has the last time of an address with any tag or none under this id. */

const agreement = defineQuery({
  name: "test-agreement",
  sql: `SELECT
      (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT source_ip, dataset, workspace_id, CAST(tag_id, 'UUID'), max(last_seen) FROM address_tags GROUP BY ALL))
      = (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT source_ip, dataset, workspace_id, arrayJoin(arrayPushBack(tags, toUUID('${NIL_TAG_ID}'))) AS tag_id,
          max(observed_at) FROM observations GROUP BY ALL)) AS tagged,
      (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT tag_id, dataset, workspace_id, hour, uniqExactMerge(addresses) FROM tag_activity_hourly GROUP BY ALL))
      = (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT arrayJoin(arrayPushBack(tags, toUUID('${NIL_TAG_ID}'))) AS tag_id, dataset, workspace_id,
          toStartOfHour(observed_at, 'UTC') AS hour, uniqExact(source_ip) FROM observations GROUP BY ALL)) AS activity,
      (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT dataset, workspace_id, field, value, source_ip, max(last_seen) FROM address_facets GROUP BY ALL))
      = (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT dataset, workspace_id, field, arrayJoin(texts) AS value, source_ip, max(observed_at) FROM observations
          ARRAY JOIN [${Object.keys(FACETS).map((field) => `'${field}'`)}] AS field, [${Object.values(FACETS)}] AS texts
          GROUP BY ALL)) AS facets,
      (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT DISTINCT CAST(tag_id, 'UUID'), dataset, workspace_id,
          start + toIntervalHour(arrayJoin(bitPositionsToArray(hours))) AS hour, source_ip FROM tag_addresses))
      = (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT DISTINCT arrayJoin(tags) AS tag_id, dataset, workspace_id, toStartOfHour(observed_at, 'UTC') AS hour,
          source_ip FROM observations)) AS addresses`,
  params: z.object({}),
  row: z.object({
    tagged: z.int(),
    activity: z.int(),
    facets: z.int(),
    addresses: z.int(),
  }),
});

test("of a backup made while old and new observations come in, every rollup counts exactly the observations it holds", async () => {
  const busy = await createWorld(now, { server: server.connection });
  onTestFinished(() => busy.close());
  await busy.addTags([tag]);
  let isOver = false;
  let stored = 0;
  const next = () => {
    const dataset = stored % 2 === 0 ? "global" : "community";
    return { ...seen(stored++, Math.floor(Math.random() * 60)), dataset };
  };
  const write = async () => {
    while (!isOver) await busy.store(Array.from({ length: 3 }, next));
  };
  const writing = [write(), write(), write()];
  const place = server.place("busy");
  await backUpWorld(busy, place);
  isOver = true;
  await Promise.all(writing);
  await restoreWorld(other, place);
  expect(await run(other.client, agreement, {})).toEqual([{ tagged: 1, activity: 1, facets: 1, addresses: 1 }]);
  expect(await numberOf(other, "SELECT count() FROM observations FINAL")).toBeLessThan(stored);
  expect(await numberOf(other, "SELECT count() FROM address_facets")).toBeGreaterThan(0);
});

test("two concurrent restores do not touch each other's scratch database, and one that was killed leaves nothing behind", async () => {
  const scratch = `${other.connection.database}_restoring`;
  await command(other, `CREATE DATABASE ${scratch} COMMENT 'Scratch of a Noisefloor restore'`);
  await command(other, `CREATE TABLE ${scratch}.tags AS tags`);
  const results = await Promise.allSettled([restoreWorld(other, whole), restoreWorld(other, whole)]);
  const failures = results.flatMap((result) => (result.status === "rejected" ? [String(result.reason)] : []));
  expect(failures).toEqual([
    expect.stringContaining("a restore, a removal of observations or a reapplying of tags is running"),
  ]);
  expect(await contentsOf(other)).toEqual(before);
  expect(await readScratchDatabases(other)).toEqual([]);
});

test("data that arrive during a restore into an empty store are not lost without --replace", async () => {
  const connection = { ...server.connection, database: `test_${randomUUID().replaceAll("-", "")}` };
  await migrate(connection, MIGRATIONS);
  const client = connect(connection, "noisefloor-tests");
  onTestFinished(async () => {
    await client.command({ query: `DROP DATABASE ${connection.database}` });
    await client.close();
  });
  let inserted: Promise<unknown> | undefined;
  const onStep: RestoreOptions["onStep"] = (step) => {
    if (step === "reading") inserted = client.command({ query: "INSERT INTO tags (slug) VALUES ('new')" });
  };
  const restoring = restoreStore(connection, { kind: "file", path: whole }, optionsOf({ replace: false, onStep }));
  await expect(restoring).rejects.toThrow(/is not empty: it has rows in tags \(1\)/);
  await inserted;
});

test("keys that were revoked since the backup stay revoked, and those made since are reported", async () => {
  const place = server.place("keys");
  await other.addCaller("standard");
  await backUpWorld(other, place);
  const [first, second] = await readCredentials(other.client, "workspace");
  if (first === undefined || second === undefined) throw new Error("there should be two keys");
  await revokeCredential(other.client, second, Date.now());
  await other.addCaller("standard");
  const output = await restoreWorld(other, place);
  expect(output).toContain("Keys that were revoked since the backup stay revoked: 1.");
  expect(output).toContain("Keys that were made since the backup are gone, to be made again: 1.");
  expect(await readCredentials(other.client, "workspace")).toEqual([
    first,
    { ...second, isRevoked: true, updatedAt: second.updatedAt + 1 },
  ]);
  const said = commandOver(other);
  await runRestore(place, { replace: true, json: true }, said);
  expect(JSON.parse(said.lines.join("\n"))).toEqual({
    ...{ is_complete: true, observations: 0, from: null, to: null, retention_days: expect.any(Number), expired: 0 },
    ...{ revoked_keys: 1, lost_keys: 0, newest_receipt: null },
  });
});

test("what the intake read from the topic since the backup can be read again as the restore says", async () => {
  expect(await restoreWorld(other, whole)).toMatch(/\nThe newest observation was received at 20\S+Z\.$/);
  const connection = { brokers: ["one:9092", "two:9092"], clientId: "", tls: false };
  const kafka = { ...(await freshKafka()), connection, groupId: "the-group", topic: "the-topic" };
  const said = commandOver(other, { ...kafka, instanceId: "one" });
  await runRestore(whole, { replace: true }, said);
  expect(said.lines.join("\n")).toMatch(/KAFKA_INSTANCE_ID stays a member for 30 s after it has stopped:\nuntil then/);
  expect(said.lines.join("\n")).toMatch(
    / --bootstrap-server one:9092,two:9092 --group the-group \\\n.* --topic the-topic --reset-offsets --to-datetime 20\d\d-\S+:\d\d\.\d{3} --execute$/,
  );
});
