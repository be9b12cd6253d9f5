import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { DATA_CODES, failureKind, OVER_LIMIT_CODES, TRANSIENT_CODES } from "@noisefloor/clickhouse/client/errors.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { type ObservationRow, toRow } from "@noisefloor/ingest/rows/observation-row.ts";
import { insertObservations } from "@noisefloor/ingest/store/insert.ts";
import { type InsertQueueOptions, insertQueue } from "@noisefloor/ingest/store/insert-queue.ts";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { z } from "zod";
import { seeded } from "../../support/builders/random.ts";
import { eventually } from "../../support/eventually.ts";
import { testInFull } from "../../support/test-in-full.ts";
import { atVolume } from "../../support/volume.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const worm = makeTag("worm", "malicious");
let world: World;

beforeEach(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([worm]);
});
afterEach(() => world.close());

/** The n-th of many distinct observations, each of its own address. */
function row(n: number, sensor = "s"): ObservationRow {
  const observedAt = NOW - 60_000 - n;
  const observation = {
    observed_at: new Date(observedAt).toISOString(),
    dataset: "global",
    sensor_id: sensor,
    source_ip: `45.${n >> 16}.${(n >> 8) & 255}.${n & 255}`,
    tags: [],
  } as const;
  const valid = { observation: { ...observation, tags: [] }, observedAt, isFilledIn: false };
  return toRow(valid, { observationId: `o-${n}`, tagIds: [worm.id] });
}
const rows = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => row(from + index));

function queueOf(options: Partial<InsertQueueOptions<ObservationRow>> = {}) {
  const inserts: { rows: number; outcome: string }[] = [];
  const { insert = insertObservations(world.client) } = options;
  const queue = insertQueue<ObservationRow>({
    retryForMs: 30_000,
    intervalMs: 0,
    ...options,
    async insert(values, token) {
      try {
        await insert(values, token);
      } catch (error) {
        inserts.push({ rows: values.length, outcome: failureKind(error) });
        throw error;
      }
      inserts.push({ rows: values.length, outcome: "stored" });
    },
  });
  return { queue, inserts };
}

const counts = defineQuery({
  name: "test-counts",
  sql: `SELECT (SELECT count() FROM observations) AS raw,
    (SELECT count() FROM tag_activity_hourly) AS hours,
    (SELECT count() FROM tag_addresses) AS addresses,
    (SELECT count() FROM address_tags) AS tags,
    (SELECT count() FROM address_facets WHERE field = 'seen') AS facets`,
  params: z.object({}),
  row: z.object({ raw: z.int(), hours: z.int(), addresses: z.int(), tags: z.int(), facets: z.int() }),
});
const stored = async () => (await run(world.client, counts, {}))[0];
const countsOnce = defineQuery({
  name: "test-counts-once",
  sql: `SELECT (SELECT count() FROM observations FINAL) AS raw,
    (SELECT uniqExactMerge(addresses) FROM tag_activity_hourly) AS counted`,
  params: z.object({}),
  row: z.object({ raw: z.int(), counted: z.int() }),
});
const storedOnce = async () => (await run(world.client, countsOnce, {}))[0];
const poison = () =>
  world.client.command({ query: "ALTER TABLE observations ADD CONSTRAINT no_poison CHECK sensor_id != 'poison'" });

test("of rows that the server rejects for their data exactly the bad ones are reported, and all others are stored", async () => {
  await poison();
  const random = seeded(7);
  const [count, bads] = atVolume([500, 4], [5_000, 12]);
  const bad = new Set(Array.from({ length: bads }, () => random.int(0, count - 1)));
  const { queue } = queueOf();
  const rejected = await queue.store(
    Array.from({ length: count }, (_, n) => row(n, bad.has(n) ? "poison" : "s")),
    0,
  );
  expect(new Set(rejected.map(({ index }) => index))).toEqual(bad);
  expect(rejected.every(({ detail }) => detail.includes("no_poison"))).toBe(true);
  expect((await stored())?.raw).toBe(count - bad.size);
});

test("a row that has no form in the store is reported, and all others are stored", async () => {
  const { queue } = queueOf();
  const impossible = { ...row(3), source_port: 65_536 };
  const rejected = await queue.store([...rows(0, 3), impossible, ...rows(4, 10)], 0);
  expect(rejected).toEqual([{ index: 3, detail: expect.stringContaining("the observation o-3 has no form") }]);
  expect((await stored())?.raw).toBe(9);
});

test("each caller learns of its own bad rows, by their index, and of no others", async () => {
  await poison();
  const { queue } = queueOf({ intervalMs: 100 });
  const [good, mixed, alsoGood] = await Promise.all([
    queue.store(rows(0, 10), 0),
    queue.store([row(10), row(11, "poison"), row(12), row(13, "poison")], 0),
    queue.store(rows(20, 30), 0),
  ]);
  expect([good, mixed.map(({ index }) => index), alsoGood]).toEqual([[], [1, 3], []]);
  expect((await stored())?.raw).toBe(22);
});

test("an insert repeated under its token counts once, in the table and in its rollups", async () => {
  const insert = insertObservations(world.client);
  await insert(rows(0, 1_000), "one");
  const before = await stored();
  await insert(rows(0, 1_000), "one");
  expect(await stored()).toEqual(before);
  await insert(rows(0, 1_000), "another");
  expect((await stored())?.raw).toBe(2 * (before?.raw ?? Number.NaN));
});

test("rows of many callers share inserts: the first goes immediately, those that come meanwhile go together", async () => {
  const { queue, inserts } = queueOf({ intervalMs: 50 });
  await Promise.all(Array.from({ length: 200 }, (_, call) => queue.store(rows(call * 10, call * 10 + 10), 0)));
  expect((await stored())?.raw).toBe(2_000);
  expect(inserts.length).toBeLessThan(10);
});

test("after a while without rows the first do not wait; those soon after them wait for others", async () => {
  // Only the queue decides; an insert that takes longer than the interval would leave nothing to wait for.
  const { queue, inserts } = queueOf({ intervalMs: 500, insert: async () => {} });
  const start = performance.now();
  await queue.store(rows(0, 10), 0);
  await Promise.all([queue.store(rows(10, 20), 0), queue.store(rows(20, 30), 0)]);
  expect(inserts.map(({ rows: count }) => count)).toEqual([10, 20]);
  // Timers and this clock count by themselves, and may differ by some milliseconds.
  expect(performance.now() - start).toBeGreaterThanOrEqual(490);
});

test("enough bytes of rows do not wait for others", async () => {
  const { queue } = queueOf({ intervalMs: 3_600_000 });
  await queue.store(rows(0, 10), 0);
  const waiting = queue.store(rows(10, 20), 1024 * 1024);
  expect(await Promise.all([waiting, queue.store(rows(20, 30), 3 * 1024 * 1024)])).toEqual([[], []]);
  expect((await stored())?.raw).toBe(30);
});

test("no insert is larger than 200,000 rows, and a full one does not wait for others", async () => {
  // Only the queue decides the sizes; full volume shows that the server takes them.
  const insert = atVolume(async () => {}, insertObservations(world.client));
  const { queue, inserts } = queueOf({ intervalMs: 60_000, insert });
  const same = row(0);
  const of = atVolume(
    () => Array.from({ length: 60_000 }, () => same),
    (call: number) => rows(call * 60_000, (call + 1) * 60_000),
  );
  const calls = Array.from({ length: 5 }, (_, call) => queue.store(of(call), 0));
  await Promise.all(calls);
  expect(inserts.map(({ rows: count }) => count).reduce((sum, count) => sum + count, 0)).toBe(300_000);
  expect(Math.max(...inserts.map(({ rows: count }) => count))).toBeLessThanOrEqual(200_000);
});

test("inserts are retried and logged while a server is over its limits, and succeed afterwards", async () => {
  await world.client.command({
    query: "ALTER TABLE observations MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 1",
  });
  await insertObservations(world.client)(rows(0, 1), "first");
  const waits: unknown[] = [];
  const { queue, inserts } = queueOf({ onRetry: (error) => waits.push(error) });
  const storing = queue.store(rows(1, 100), 0);
  await eventually(async () => expect(waits.length).toBeGreaterThan(2));
  expect(waits[0]).toMatchObject({ code: "252" });
  await world.client.command({ query: "ALTER TABLE observations RESET SETTING parts_to_throw_insert" });
  expect(await storing).toEqual([]);
  expect(inserts.at(-1)).toEqual({ rows: 99, outcome: "stored" });
  expect((await stored())?.raw).toBe(100);
});

/** A client with additional settings and a request timeout. */
function limitedBy(setting: string, value: number, waitMs?: number) {
  const { url } = inject("clickhouse");
  return connect({ ...world.connection, url: `${url}/?ch_${setting}=${value}` }, "noisefloor-tests", waitMs);
}
/** Inserts with a limit of the server's memory. */
const limitedTo = (bytes: number) => limitedBy("max_memory_usage", bytes);

testInFull("rows that are too many for the server's memory are inserted in as few parts as possible", async () => {
  const [count, bytes] = atVolume([20_000, 20_000_000], [60_000, 40_000_000]);
  const limited = limitedTo(bytes);
  const { queue, inserts } = queueOf({ insert: insertObservations(limited) });
  expect(await queue.store(rows(0, count), 0)).toEqual([]);
  expect(inserts.slice(0, 3)).toEqual(Array.from({ length: 3 }, () => ({ rows: count, outcome: "transient" })));
  expect(inserts.filter(({ outcome }) => outcome === "stored").length).toBeLessThanOrEqual(8);
  // An attempt that fails in a view has already stored its rows in the table: they come twice, as the same
  // observations.
  expect((await storedOnce())?.raw).toBe(count);
  expect((await storedOnce())?.counted).toBe(count);
  await limited.close();
});

testInFull("a server without any memory gets retries, but not ever smaller inserts", async () => {
  let limited = limitedTo(100_000);
  const { queue, inserts } = queueOf({ insert: (values, token) => insertObservations(limited)(values, token) });
  const storing = queue.store(rows(0, 3_000), 0);
  await eventually(async () => expect(inserts.length).toBeGreaterThan(9));
  expect(new Set(inserts.map(({ rows: count }) => count))).toEqual(new Set([3_000, 1_500, 750]));
  await limited.close();
  limited = limitedTo(0);
  expect(await storing).toEqual([]);
  expect((await storedOnce())?.raw).toBe(3_000);
  await limited.close();
});

test.each([
  ...atVolume([], [{ who: "the server", seconds: 1, waitMs: 120_000 }]),
  { who: "the client", seconds: 0, waitMs: 1_000 },
])("rows that take longer than the time limit of $who are inserted in parts", async ({ seconds, waitMs }) => {
  await world.client.command({
    query: "ALTER TABLE observations ADD CONSTRAINT slow CHECK sleepEachRow(0.00025) = 0",
  });
  const limited = limitedBy("max_execution_time", seconds, waitMs);
  const { queue, inserts } = queueOf({ insert: insertObservations(limited), retryForMs: Number.POSITIVE_INFINITY });
  expect(await queue.store(rows(0, 4_800), 0)).toEqual([]);
  expect(inserts.slice(0, 3)).toEqual(Array.from({ length: 3 }, () => ({ rows: 4_800, outcome: "transient" })));
  expect(inserts.slice(3).every(({ rows: count }) => count < 4_800)).toBe(true);
  // An attempt that timed out may have been stored: its rows come twice, as the same observations.
  expect(await storedOnce()).toEqual({ raw: 4_800, counted: 4_800 });
  await limited.close();
});

test("a table that rejects every row fails the intake, instead of making every row a dead letter", async () => {
  await world.client.command({ query: "ALTER TABLE observations ADD CONSTRAINT nothing CHECK sensor_id = 'nobody'" });
  const { queue, inserts } = queueOf();
  await expect(queue.store(rows(0, 1_000), 0)).rejects.toThrow(/rejects all rows, not only some: .*nothing/s);
  expect(inserts.length).toBeLessThan(30);
});

test("every error code that we classify has the server's name for it", async () => {
  for (const [code, name] of [...TRANSIENT_CODES, ...DATA_CODES, ...OVER_LIMIT_CODES]) {
    const result = await world.client.query({ query: `SELECT errorCodeToName(${code})`, format: "TabSeparated" });
    expect((await result.text()).trim(), code).toBe(name);
  }
});

test("an unknown failure is not retried", async () => {
  const elsewhere = connect({ ...inject("clickhouse"), database: "no_such_database" }, "noisefloor-tests");
  const { queue, inserts } = queueOf({ insert: insertObservations(elsewhere) });
  await expect(queue.store(rows(0, 10), 0)).rejects.toMatchObject({ code: "81" });
  expect(inserts).toEqual([{ rows: 10, outcome: "unknown" }]);
  await elsewhere.close();
});

test("during a shutdown nothing is retried, and rows that wait for others are inserted immediately", async () => {
  const away = connect({ ...inject("clickhouse"), url: "http://127.0.0.1:1" }, "noisefloor-tests");
  const shutdown = new AbortController();
  const { queue } = queueOf({
    insert: insertObservations(away),
    retryForMs: Number.POSITIVE_INFINITY,
    shutdown: shutdown.signal,
  });
  const outcome = queue.store(rows(0, 10), 0).then(
    () => "stored",
    () => "rejected",
  );
  shutdown.abort();
  expect(await outcome).toBe("rejected");
  await away.close();

  const later = new AbortController();
  const lingering = queueOf({ intervalMs: 3_600_000, shutdown: later.signal });
  await lingering.queue.store(rows(0, 10), 0);
  const storing = lingering.queue.store(rows(10, 20), 0);
  later.abort();
  expect(await storing).toEqual([]);
});

test("rows whose callers have gone are dropped, whether they wait in the queue or for the store", async () => {
  const away = connect({ ...inject("clickhouse"), url: "http://127.0.0.1:1" }, "noisefloor-tests");
  let isAway = true;
  const { queue, inserts } = queueOf({
    insert: (values, token) => insertObservations(isAway ? away : world.client)(values, token),
    retryForMs: Number.POSITIVE_INFINITY,
  });
  const lost = new AbortController();
  const first = queue.store(rows(0, 10), 0, lost.signal);
  await eventually(async () => expect(inserts.length).toBeGreaterThan(1));
  const outcomes = Promise.allSettled([first, queue.store(rows(10, 15), 0, lost.signal)]);
  lost.abort(new Error("the partition is needed elsewhere"));
  expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(inserts.every(({ rows: count }) => count === 10)).toBe(true);
  isAway = false;
  await expect(queue.store(rows(15, 20), 0, lost.signal), "gone before").rejects.toThrow("needed elsewhere");
  expect(await queue.store(rows(20, 30), 0)).toEqual([]);
  expect((await stored())?.raw).toBe(10);
  await away.close();
});
