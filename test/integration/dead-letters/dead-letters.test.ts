import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runDeadLettersList, runDeadLettersShow } from "@noisefloor/cli/commands/dead-letters/list-and-show.ts";
import { type RetryOptions, runDeadLettersRetry } from "@noisefloor/cli/commands/dead-letters/retry.ts";
import { runReplay } from "@noisefloor/cli/commands/replay.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { writeSensorKey } from "@noisefloor/clickhouse/tables/sensor-keys.ts";
import { hashKey } from "@noisefloor/clickhouse/tables/workspaces.ts";
import type { RejectionReason } from "@noisefloor/domain/observation/observation.ts";
import { type DeadLetter, toPayload } from "@noisefloor/ingest/dead-letters/dead-letter.ts";
import { deadLetterStore } from "@noisefloor/ingest/dead-letters/store.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service.ts";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { readStored } from "../../support/oracle/stored-observations.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const now = () => NOW;

let world: World;
let app: FastifyInstance;

beforeEach(async () => {
  world = await createWorld(now);
  app = await makeApp(INGEST_OPERATIONS, (await ingestOf(world, undefined, now)).register);
});
afterEach(async () => {
  await app.close();
  await world.close();
});

const stored = () => readStored(world);

const seen = (ip: string, members: object = {}) => observation(ip, NOW - 60_000, members);

async function post(observations: readonly (object | string)[], key?: string): Promise<void> {
  const response = await app.inject({
    method: "POST",
    url: "/v1/observations",
    payload: observations.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join("\n"),
    ...(key === undefined ? {} : { headers: { key } }),
  });
  expect(response.statusCode).toBe(202);
}

const deadLetterSchema = z.object({
  id: z.string(),
  source: z.string(),
  origin: z.string(),
  position: z.int(),
  state: z.string(),
  reason: z.string(),
  detail: z.string(),
  retried: z.string().nullable(),
  bytes: z.int(),
  kept_bytes: z.int(),
});
const listSchema = z.object({
  counts: z.array(z.object({ source: z.string(), reason: z.string(), state: z.string(), count: z.int() })),
  dead_letters: z.array(deadLetterSchema),
});

async function list(options: Partial<Parameters<typeof runDeadLettersList>[0]> = {}) {
  const command = commandOver(world);
  await runDeadLettersList({ limit: 20, includeDone: false, json: true, ...options }, command);
  return listSchema.parse(JSON.parse(command.lines.join("")));
}

const DEFAULTS = { all: false, dryRun: false, overridePermission: false, json: true };

async function retry(ids: readonly string[], options: Partial<RetryOptions> = {}) {
  const command = commandOver(world);
  await runDeadLettersRetry(ids, { ...DEFAULTS, ...options }, command);
  return z
    .object({ stored: z.int(), rejected: z.int(), skipped: z.int(), already_done: z.int() })
    .parse(JSON.parse(command.lines.join("")));
}

const nothing = { stored: 0, rejected: 0, skipped: 0, already_done: 0 };

test("after a missing tag was added, a retry stores what lacked it, once, under the id of its first intake", async () => {
  await post([seen("45.1.0.1"), seen("45.1.0.2", { tags: ["new-tag"] }), seen("10.0.0.1", { tags: ["new-tag"] })]);
  const before = await list();
  expect(before.counts).toEqual([
    expect.objectContaining({ source: "http", reason: "source-not-routable", state: "open", count: 1 }),
    expect.objectContaining({ source: "http", reason: "unknown-tag", state: "open", count: 1 }),
  ]);
  const deadLetter = before.dead_letters.find(({ reason }) => reason === "unknown-tag");
  expect(await retry([], { all: true })).toEqual({ ...nothing, rejected: 2 });
  expect((await list()).dead_letters.map(({ id }) => id).sort(), "ids stay").toEqual(
    before.dead_letters.map(({ id }) => id).sort(),
  );

  await world.addTags([makeTag("new-tag", "suspicious")]);
  expect(await retry([], { all: true, dryRun: true })).toEqual({ ...nothing, stored: 1, rejected: 1 });
  expect(await stored()).toHaveLength(1);
  expect(await retry([], { all: true })).toEqual({ ...nothing, stored: 1, rejected: 1 });
  const after = await stored();
  expect(after.map(({ ip }) => ip)).toEqual(["45.1.0.1", "45.1.0.2"]);
  expect(after[1]?.id).toBe(`http:${deadLetter?.origin}/1`);

  expect(await retry([], { all: true }), "a second run finds only what is still rejected").toEqual({
    ...nothing,
    rejected: 1,
  });
  expect(await retry([deadLetter?.id ?? ""])).toEqual({ ...nothing, already_done: 1 });
  expect(await stored()).toEqual(after);
  expect((await list()).counts).toMatchObject([{ reason: "source-not-routable", count: 1 }]);
  expect((await list({ includeDone: true })).counts).toMatchObject([
    { reason: "source-not-routable", state: "open" },
    { reason: "unknown-tag", state: "done" },
  ]);
});

test("every dead letter has an id that commands accept, also one that begins with zeros", async () => {
  await post(Array.from({ length: 3_000 }, (_, number) => `{${number}`));
  const { dead_letters: deadLetters } = await list({ limit: 3_000 });
  expect(deadLetters.filter(({ id }) => !/^[0-9a-f]{16}$/.test(id))).toEqual([]);
  const zeros = deadLetters.find(({ id }) => id.startsWith("00"));
  expect(await retry([zeros?.id ?? "none of 3,000"])).toEqual({ ...nothing, rejected: 1 });
});

test("what is rejected again is listed with its new reason", async () => {
  await post([seen("45.1.0.2", { tags: ["new-tag"], observed_at: new Date(NOW - 99 * 86_400_000).toISOString() })]);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  // Kept for 100 days at its intake, for 30 now.
  await world.client.command({
    query: "ALTER TABLE observations MODIFY TTL toDateTime(observed_at, 'UTC') + toIntervalDay(30)",
  });
  expect(await retry([], { reason: "unknown-tag" })).toEqual({ ...nothing, rejected: 1 });
  const { dead_letters: deadLetters } = await list({ reason: "older-than-retention" });
  expect(deadLetters).toMatchObject([{ reason: "older-than-retention", retried: expect.any(String) }]);
  expect((await list({ reason: "unknown-tag" })).dead_letters).toEqual([]);
});

async function addKey(dataset: "community" | "personal", workspaceId: string): Promise<string> {
  const key = `key-${dataset}-${workspaceId}`;
  const stored = {
    keyId: key,
    label: "",
    dataset,
    workspaceId,
    sha256: hashKey(key),
    createdAt: NOW,
    isRevoked: false,
  };
  await writeSensorKey(world.client, stored, NOW);
  await world.sensors.refresh();
  return key;
}

test("a dead letter of a sensor's key goes where that key publishes, and what the key forbids is rejected again", async () => {
  const key = await addKey("personal", "team-a");
  await post([seen("45.2.0.1", { tags: ["new-tag"] }), seen("45.2.0.2", { dataset: "global" })], key);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  expect(await retry([], { all: true })).toEqual({ ...nothing, stored: 1, rejected: 1 });
  expect(await stored()).toMatchObject([{ ip: "45.2.0.1", room: "personal/team-a" }]);
  expect(await retry([], { reason: "not-permitted" })).toEqual({ ...nothing, rejected: 1 });
  expect(await retry([], { reason: "not-permitted", overridePermission: true })).toEqual({ ...nothing, stored: 1 });
  expect(await stored()).toMatchObject([{ room: "personal/team-a" }, { ip: "45.2.0.2", room: "global/" }]);
});

test("a retried line of a file is the observation that a second replay of the file brings, shifted and all", async () => {
  const file = join(tmpdir(), `noisefloor-letters-${NOW}.ndjson`);
  onTestFinished(() => rm(file, { force: true }));
  const old = { observed_at: "2020-01-01T00:00:00Z" };
  const lines = [seen("45.3.0.1", { ...old, tags: ["new-tag"] }), seen("45.3.0.2", old)].map((one) =>
    JSON.stringify(one),
  );
  // Equal lines are as many observations as they are.
  await writeFile(file, [lines[0], lines[1], lines[0], "{not json"].join("\n"));
  const replay = () =>
    runReplay([file], { format: "observations", shiftTo: new Date(NOW).toISOString() }, commandOver(world));
  await replay();
  expect(await stored()).toHaveLength(1);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  expect(await retry([], { all: true, source: "file" })).toEqual({ ...nothing, stored: 2, skipped: 1 });
  const after = await stored();
  expect(after.map(({ ip }) => ip)).toEqual(["45.3.0.1", "45.3.0.1", "45.3.0.2"]);
  await replay();
  expect(await stored()).toEqual(after);
  expect((await list()).counts, "what is stored is not open again").toMatchObject([{ reason: "not-json", count: 1 }]);
});

test("show prints a payload byte for byte, and keeps what would command a terminal from it", async () => {
  await post([`{"source_ip":"\u001b[2J"}`, seen("45.4.0.1", { tags: ["gr\u00fc\u00df-gott"] })]);
  const { dead_letters: deadLetters } = await list();
  const [hostile, text] = [1, 2].map(
    (position) => deadLetters.find((deadLetter) => deadLetter.position === position)?.id ?? "",
  );
  const show = async (id = "", raw = false) => {
    const command = commandOver(world);
    const written: Buffer[] = [];
    await runDeadLettersShow(id, { raw, json: false }, command, (bytes) => written.push(bytes));
    return { text: command.lines.join("\n"), raw: Buffer.concat(written).toString() };
  };
  expect((await show(hostile)).text).toContain(`in hex:\n${Buffer.from('{"source_ip":"\u001b[2J"}').toString("hex")}`);
  expect((await show(hostile)).text).not.toContain("\u001b");
  expect((await show(text)).text).toMatch(/as text:\n\{.*grüß-gott/);
  expect(await show(hostile, true)).toEqual({ text: "", raw: '{"source_ip":"\u001b[2J"}' });
  await expect(show("0123456789abcdef")).rejects.toThrow(/there is no dead letter 0123456789abcdef/);
  await expect(show("7")).rejects.toThrow(/is no id of a dead letter/);
  await expect(show("0/7")).rejects.toThrow(/is no id of a dead letter/);
});

test("a record that is rejected anew after a retry has stored it is open again", async () => {
  const store = (at: number, reason: RejectionReason) =>
    deadLetterStore(world.client, { now: () => at })([
      {
        source: "http",
        ...toPayload(Buffer.from(JSON.stringify(seen("45.6.0.1")))),
        origin: "request",
        position: 1,
        sender: { right: "everything" },
        rejection: { reason, detail: "" },
      },
    ]);
  await store(NOW, "unknown-tag");
  expect(await retry([], { all: true })).toEqual({ ...nothing, stored: 1 });
  expect((await list()).counts).toEqual([]);
  await store(Date.now() + 60_000, "oversize");
  expect((await list()).counts).toMatchObject([{ reason: "oversize", state: "open", count: 1 }]);
  expect(await retry([], { all: true })).toEqual({ ...nothing, stored: 1 });
  expect(await stored()).toHaveLength(1);
});

test("a record is kept whole up to 8 MiB; of a larger one the beginning is, which is skipped, with its size", async () => {
  const mebibyte = 1024 * 1024;
  await post([`"${"x".repeat(8 * mebibyte - 2)}"`, `"${"y".repeat(8 * mebibyte)}"`]);
  const command = commandOver(world);
  await runDeadLettersRetry([], { ...DEFAULTS, all: true, json: false }, command);
  expect(command.lines.join("\n")).toMatch(
    /rejected {5}1\n {2}oversize +1\nskipped {6}1\n {2}1: only the first 8388608 of its 8388610 bytes are stored: its sensor has to send it again, in parts/,
  );
  const { dead_letters: deadLetters } = await list();
  const sizes = deadLetters.map(({ bytes, kept_bytes }) => [bytes, kept_bytes]).sort();
  expect(sizes).toEqual([
    [8 * mebibyte, 8 * mebibyte],
    [8 * mebibyte + 2, 8 * mebibyte],
  ]);
});

test("a retry that fails on the way does not say that it was complete", async () => {
  await post([seen("45.6.1.1", { tags: ["new-tag"] })]);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  await world.client.command({ query: "RENAME TABLE observations TO elsewhere" });
  await world.client.command({ query: "CREATE VIEW observations AS SELECT * FROM elsewhere" });
  const command = commandOver(world);
  await expect(runDeadLettersRetry([], { ...DEFAULTS, all: true }, command)).rejects.toThrow(/View/);
  expect(JSON.parse(command.lines.join(""))).toMatchObject({ is_complete: false, stored: 0 });
});

test("Ctrl-C ends a retry that waits for a store which rejects all inserts, and its dead letters are open as before", async () => {
  await post([seen("45.6.2.1"), seen("45.6.2.2", { tags: ["new-tag"] })]);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  await world.client.command({ query: "ALTER TABLE observations MODIFY SETTING parts_to_throw_insert = 1" });
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 1_000);
  const command = commandOver(world, undefined, stop.signal);
  const start = performance.now();
  await runDeadLettersRetry([], { ...DEFAULTS, all: true }, command);
  expect(performance.now() - start).toBeLessThan(15_000);
  expect(process.exitCode).toBe(130);
  process.exitCode = 0;
  expect(JSON.parse(command.lines.join(""))).toMatchObject({ is_complete: false, stored: 0 });
  expect((await list()).counts).toMatchObject([{ reason: "unknown-tag", state: "open" }]);
});

const insertsOfDeadLetters = defineQuery({
  name: "test-dead-letter-inserts",
  sql: "SELECT count() AS rows, uniqExact(_part) AS inserts FROM dead_letters",
  params: z.object({}),
  row: z.object({ rows: z.int(), inserts: z.int() }),
});

test("many large dead letters are stored some at a time: all at once no string could hold them", async () => {
  await world.client.command({ query: "SYSTEM STOP MERGES dead_letters" });
  const line = Buffer.alloc(1024 * 1024, "x");
  const deadLetters = Array.from(
    { length: 40 },
    (_, index): DeadLetter => ({
      source: "file",
      ...toPayload(line),
      origin: "huge.ndjson",
      position: index + 1,
      sender: { right: "everything" },
      rejection: { reason: "not-json", detail: "" },
    }),
  );
  await deadLetterStore(world.client, { now })(deadLetters);
  expect(await run(world.client, insertsOfDeadLetters, {})).toEqual([{ rows: 40, inserts: 3 }]);
});

test("thousands of dead letters are retried to the last one, and filters select them", async () => {
  const deadLetters = Array.from(
    { length: 12_001 },
    (_, index): DeadLetter => ({
      source: "http",
      ...toPayload(Buffer.from(JSON.stringify(seen(`45.${5 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`)))),
      // Many at one place, as when a request's id came again and again: paging must lose none of them.
      origin: `request-${Math.floor(index / 9_000)}`,
      position: 1,
      sender: { right: "shared-datasets" },
      rejection: { reason: index % 3 === 0 ? "unknown-tag" : "oversize", detail: "" },
    }),
  );
  await deadLetterStore(world.client, { now })(deadLetters);
  expect(await retry([], { reason: "unknown-tag", since: "1h" })).toEqual({ ...nothing, stored: 4_001 });
  expect((await list({ limit: 3 })).dead_letters).toHaveLength(3);
  expect((await list()).counts).toMatchObject([{ reason: "oversize", count: 8_000 }]);
  expect((await list({ since: new Date(NOW + 60_000).toISOString() })).counts).toEqual([]);
});

test.each<[string, string[], Partial<RetryOptions>, RegExp]>([
  ["no choice", [], {}, /say which ones: ids, or --reason, or --all/],
  ["a source alone", [], { source: "http" }, /say which ones/],
  ["ids and a choice", ["0123456789abcdef"], { all: true }, /say which ones/],
  ["a reason that is none", [], { reason: "weather" }, /there is no reason "weather"; there are not-json/],
  [
    "a source that is none",
    [],
    { all: true, source: "mail" },
    /there is no source "mail"; there are http, file, kafka/,
  ],
  ["a time that is none", [], { all: true, since: "yesterday" }, /--since takes a time like/],
  ["a dead letter that does not exist", ["0123456789abcdef"], {}, /there is no dead letter 0123456789abcdef/],
])("a retry of %s says what it takes", async (_name, ids, options, message) => {
  await expect(retry(ids, options)).rejects.toThrow(message);
});
