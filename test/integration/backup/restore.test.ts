import { randomUUID } from "node:crypto";
import { runRestore } from "@noisefloor/cli/commands/restore.ts";
import { connect } from "@noisefloor/clickhouse/client.ts";
import { migrate, readMigrations, requireCurrentSchema } from "@noisefloor/clickhouse/migrate.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/query.ts";
import { type RestoreTerms, restoreDatabase } from "@noisefloor/clickhouse/restore.ts";
import { applyRetention } from "@noisefloor/clickhouse/retention.ts";
import { readApiKeys, writeApiKey } from "@noisefloor/clickhouse/tables/workspaces.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import {
  type BackupServer,
  backUpWorld,
  contentsOf,
  numberOf,
  readWorkingDatabases,
  restoreWorld,
  startBackupServer,
} from "../../support/worlds/backups.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { freshKafka } from "../../support/worlds/consuming-world.ts";
import { MIGRATIONS } from "../../support/worlds/databases.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const now = () => NOW;
const DAY_MS = 86_400_000;
const tag = makeTag("known", "malicious");

let server: BackupServer;
/** What was backed up, once for all tests, and is left as it was then. */
let world: World;
let whole: string;
let before: unknown;
/** Another store on the same server, for the backup to be restored into. */
let other: World;

beforeAll(async () => {
  server = await startBackupServer();
  world = await createWorld(now, { server: server.connection });
  await world.addTags([tag]);
  await world.store(Array.from({ length: 60 }, (_, index) => seen(index, index % 25)));
  await applyRetention(world.client, 60);
  // Of somebody's own: a table, and a view that keeps its rows in a table with a name like .inner_id.…
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
  observation(`45.0.${day}.${index % 200}`, NOW - day * DAY_MS - 60_000, { tags: ["known"] });

async function command(of: World, query: string): Promise<void> {
  await of.client.command({ query });
}

const termsOf = (terms: Partial<RestoreTerms>): RestoreTerms => ({
  migrations: MIGRATIONS,
  replace: true,
  signal: new AbortController().signal,
  ...terms,
});

test("tables of one's own are left alone, in the store and in the backup, and what is replaced is not gone through", async () => {
  await command(other, "CREATE TABLE own (x UInt8) ENGINE = MergeTree ORDER BY x");
  await command(other, "INSERT INTO own VALUES (7)");
  const mutations = "SELECT count() FROM system.mutations WHERE database = currentDatabase()";
  const gone = await numberOf(other, mutations);
  await restoreWorld(other, whole);
  expect(await contentsOf(other)).toEqual(before);
  expect(await numberOf(other, "SELECT sum(x) FROM own")).toBe(7);
  const theirs = "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name IN ('notes', 'mine')";
  expect(await numberOf(other, theirs)).toBe(0);
  expect(await numberOf(other, mutations), "a retention that is gone through").toBe(gone);
});

test("a backup whose tables are made otherwise is refused before anything is touched", async () => {
  await command(other, "ALTER TABLE tags ADD COLUMN mine String");
  const held = await contentsOf(other);
  await expect(restoreWorld(other, whole)).rejects.toThrow(
    /^the table tags of the backup cannot take the place of the store's: .*different structure/,
  );
  expect(await contentsOf(other)).toEqual(held);
  expect(await migrate(other.connection, MIGRATIONS), "the store goes on").toEqual([]);
});

test("a restore that broke off keeps every service away until one has ended, which needs no --replace", async () => {
  // The server finds out only from the parts that they do not fit.
  const [made] = (await readMigrations(MIGRATIONS)).filter(({ name }) => name === "tag_activity_hourly");
  await command(other, "DROP TABLE tag_activity_hourly SYNC");
  await command(other, `${made?.sql} SETTINGS index_granularity_bytes = 0`);
  await expect(restoreWorld(other, whole)).rejects.toThrow(
    /^the restore broke off while it put the backup in place, so that the data are mixed: run it again\. .*granularity/,
  );
  const refusal = /a restore is under way or has broken off, .* run "noisefloor restore" again/;
  await expect(migrate(other.connection, MIGRATIONS)).rejects.toThrow(refusal);
  await expect(requireCurrentSchema(other.client, await readMigrations(MIGRATIONS))).rejects.toThrow(refusal);
  await expect(backUpWorld(other, server.place("mixed"))).rejects.toThrow(/a restore is under way or has broken off/);
  expect(await readWorkingDatabases(other)).toEqual([]);

  await command(other, "DROP TABLE tag_activity_hourly SYNC");
  await command(other, made?.sql ?? "");
  await restoreWorld(other, whole, false);
  expect(await contentsOf(other)).toEqual(before);
  expect(await migrate(other.connection, MIGRATIONS)).toEqual([]);
});

test("no part is merged away while the parts are checked, or a large sound backup would be called damaged", async () => {
  let merging: Promise<unknown> | undefined;
  const merge = async () => {
    const [copy] = (await readWorkingDatabases(other)).filter((name) => name.startsWith(other.connection.database));
    await command(other, `OPTIMIZE TABLE ${copy}.observations FINAL`);
  };
  let isChecking = false;
  const terms = termsOf({
    onStep: (step) => {
      isChecking = step === "checking";
    },
    onProgress: () => {
      if (isChecking) merging ??= merge().catch(String);
    },
  });
  await restoreDatabase(other.connection, { kind: "file", path: whole }, terms);
  expect(await merging).toContain("Cancelled merging parts");
});

const agreement = defineQuery({
  name: "test-agreement",
  sql: `SELECT
      (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT source_ip, dataset, workspace_id, day, min(first_seen), max(last_seen) FROM address_daily GROUP BY ALL))
      = (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT source_ip, dataset, workspace_id, toDate(observed_at, 'UTC') AS day, min(observed_at), max(observed_at)
          FROM observations GROUP BY ALL)) AS daily,
      (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT source_ip, dataset, workspace_id, tag_id, max(last_seen) FROM address_tags GROUP BY ALL))
      = (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT source_ip, dataset, workspace_id, arrayJoin(tags) AS tag_id, max(observed_at)
          FROM observations GROUP BY ALL)) AS tagged,
      (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT tag_id, dataset, workspace_id, hour, uniqExactMerge(addresses) FROM tag_activity_hourly GROUP BY ALL))
      = (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT arrayJoin(tags) AS tag_id, dataset, workspace_id, toStartOfHour(observed_at, 'UTC') AS hour,
          uniqExact(source_ip) FROM observations GROUP BY ALL)) AS activity,
      (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT DISTINCT tag_id, dataset, workspace_id, hour, source_ip FROM tag_addresses_hourly))
      = (SELECT (count(), sum(cityHash64(*))) FROM
        (SELECT DISTINCT arrayJoin(tags) AS tag_id, dataset, workspace_id, toStartOfHour(observed_at, 'UTC') AS hour,
          source_ip FROM observations)) AS addresses`,
  params: z.object({}),
  row: z.object({ daily: z.int(), tagged: z.int(), activity: z.int(), addresses: z.int() }),
});

test("of a backup made while old and new observations come in, every rollup counts exactly the observations it holds", async () => {
  const busy = await createWorld(now, { server: server.connection });
  onTestFinished(() => busy.close());
  await busy.addTags([tag]);
  let isOver = false;
  let stored = 0;
  const write = async () => {
    while (!isOver) await busy.store(Array.from({ length: 3 }, () => seen(stored++, Math.floor(Math.random() * 60))));
  };
  const writing = [write(), write(), write()];
  const place = server.place("busy");
  await backUpWorld(busy, place);
  isOver = true;
  await Promise.all(writing);
  await restoreWorld(other, place);
  expect(await run(other.client, agreement, {})).toEqual([{ daily: 1, tagged: 1, activity: 1, addresses: 1 }]);
  expect(await numberOf(other, "SELECT count() FROM observations FINAL")).toBeLessThan(stored);
});

test("two restores at once do not touch each other's copy, and one that was killed leaves nothing for long", async () => {
  const copy = `${other.connection.database}_restoring`;
  const dayAgo = Math.floor(NOW / 1_000) - 86_400;
  for (const name of [copy, `${copy}_${dayAgo}_0a`]) {
    await command(other, `CREATE DATABASE ${name}`);
    await command(other, `CREATE TABLE ${name}.tags AS tags`);
  }
  const results = await Promise.allSettled([restoreWorld(other, whole), restoreWorld(other, whole)]);
  const failures = results.flatMap((result) => (result.status === "rejected" ? [String(result.reason)] : []));
  expect(failures.length).toBeGreaterThan(0);
  for (const failure of failures) expect(failure).toContain("another restore of this store is under way");
  await restoreWorld(other, whole);
  expect(await contentsOf(other)).toEqual(before);
  expect(await readWorkingDatabases(other)).toEqual([]);
});

test("data that come while an empty store's backup is read are not lost without --replace", async () => {
  const connection = { ...server.connection, database: `test_${randomUUID().replaceAll("-", "")}` };
  await migrate(connection, MIGRATIONS);
  const client = connect(connection, "noisefloor-tests");
  onTestFinished(async () => {
    await client.command({ query: `DROP DATABASE ${connection.database}` });
    await client.close();
  });
  let inserted: Promise<unknown> | undefined;
  const onStep: RestoreTerms["onStep"] = (step) => {
    if (step === "reading") inserted = client.command({ query: "INSERT INTO tags (slug) VALUES ('new')" });
  };
  const restoring = restoreDatabase(connection, { kind: "file", path: whole }, termsOf({ replace: false, onStep }));
  await expect(restoring).rejects.toThrow(/is not empty: it has rows in tags \(1\)/);
  await inserted;
});

test("keys that were revoked since the backup stay revoked, and those made since are told of", async () => {
  const place = server.place("keys");
  await other.addCaller("standard");
  await backUpWorld(other, place);
  const [first, second] = await readApiKeys(other.client);
  if (first === undefined || second === undefined) throw new Error("there should be two keys");
  await writeApiKey(other.client, { ...second, isRevoked: true }, Date.now());
  await other.addCaller("standard");
  const told = await restoreWorld(other, place);
  expect(told).toContain("Keys that were revoked since the backup stay revoked: 1.");
  expect(told).toContain("Keys that were made since the backup are gone, to be made anew: 1.");
  expect(await readApiKeys(other.client)).toEqual([first, { ...second, isRevoked: true }]);
  expect(await restoreWorld(other, place)).not.toContain("made since");
});

test("what the intake read from the topic since the backup can be read again as the restore says", async () => {
  expect(await restoreWorld(other, whole)).toMatch(/\nThe newest observation was received at 20\S+Z\.$/);
  const connection = { brokers: ["one:9092", "two:9092"], clientId: "", tls: false };
  const kafka = { ...freshKafka(), connection, groupId: "the-group", topic: "the-topic" };
  const said = commandOver(other, kafka);
  await runRestore(whole, { replace: true }, said);
  expect(said.lines.join("\n")).toMatch(
    / --bootstrap-server one:9092,two:9092 --group the-group \\\n.* --topic the-topic --reset-offsets --to-datetime 20\d\d-\S+:\d\d\.\d{3} --execute$/,
  );
});
