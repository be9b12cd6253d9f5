import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RetryOptions, runDeadLettersRetry } from "@noisefloor/cli/commands/dead-letters/retry.ts";
import { runReplay } from "@noisefloor/cli/commands/replay.ts";
import { makeCredential, writeCredential } from "@noisefloor/clickhouse/access/credentials.ts";
import type { RejectionReason } from "@noisefloor/domain/observation/observation.ts";
import { type DeadLetter, toPayload } from "@noisefloor/ingest/dead-letters/dead-letter.ts";
import { deadLetterStore } from "@noisefloor/ingest/dead-letters/store.ts";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { observation } from "../../support/builders/observation.ts";
import {
  listDeadLetters,
  NOTHING_RETRIED,
  RETRY_DEFAULTS,
  retryDeadLetters,
} from "../../support/commands/dead-letters.ts";
import { type HttpIntake, openHttpIntake } from "../../support/intake/http-intake.ts";
import { readStored } from "../../support/oracle/stored-observations.ts";
import { testInFull } from "../../support/test-in-full.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const now = () => NOW;

let world: World;
let intake: HttpIntake;

beforeEach(async () => {
  world = await createWorld(now);
  intake = await openHttpIntake(world, now);
});
afterEach(async () => {
  await intake.close();
  await world.close();
});

const seen = (ip: string, members: object = {}) => observation(ip, NOW - 60_000, members);
const list = (options?: Parameters<typeof listDeadLetters>[1]) => listDeadLetters(world, options);
const retry = (ids: readonly string[], options?: Partial<RetryOptions>) => retryDeadLetters(world, ids, options);

test("after a missing tag was added, a retry stores the records that lacked it, once, under the ids of their first intake", async () => {
  await intake.post([
    seen("45.1.0.1"),
    seen("45.1.0.2", { tags: ["new-tag"] }),
    seen("10.0.0.1", { tags: ["new-tag"] }),
  ]);
  const before = await list();
  expect(before.counts).toEqual([
    expect.objectContaining({ source: "http", reason: "source-not-routable", state: "open", count: 1 }),
    expect.objectContaining({ source: "http", reason: "unknown-tag", state: "open", count: 1 }),
  ]);
  const deadLetter = before.dead_letters.find(({ reason }) => reason === "unknown-tag");
  expect(await retry([], { all: true })).toEqual({ ...NOTHING_RETRIED, rejected: 2 });
  expect((await list()).dead_letters.map(({ id }) => id).sort(), "ids stay").toEqual(
    before.dead_letters.map(({ id }) => id).sort(),
  );

  await world.addTags([makeTag("new-tag", "suspicious")]);
  expect(await retry([], { all: true, dryRun: true })).toEqual({ ...NOTHING_RETRIED, stored: 1, rejected: 1 });
  expect(await readStored(world)).toHaveLength(1);
  expect(await retry([], { all: true })).toEqual({ ...NOTHING_RETRIED, stored: 1, rejected: 1 });
  const after = await readStored(world);
  expect(after.map(({ ip }) => ip)).toEqual(["45.1.0.1", "45.1.0.2"]);
  expect(after[1]?.id).toBe(`http:${deadLetter?.origin}/1`);

  expect(await retry([], { all: true }), "a second run finds only what is still rejected").toEqual({
    ...NOTHING_RETRIED,
    rejected: 1,
  });
  expect(await retry([deadLetter?.id ?? ""])).toEqual({ ...NOTHING_RETRIED, already_done: 1 });
  expect(await readStored(world)).toEqual(after);
  expect((await list()).counts).toMatchObject([{ reason: "source-not-routable", count: 1 }]);
  expect((await list({ includeDone: true })).counts).toMatchObject([
    { reason: "source-not-routable", state: "open" },
    { reason: "unknown-tag", state: "done" },
  ]);
});

test("a record that is rejected again is listed with its new reason", async () => {
  await intake.post([
    seen("45.1.0.2", { tags: ["new-tag"], observed_at: new Date(NOW - 99 * 86_400_000).toISOString() }),
  ]);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  // Within the retention of 100 days at its intake, beyond the 30 days now.
  await world.client.command({
    query: "ALTER TABLE observations MODIFY TTL toDateTime(observed_at, 'UTC') + toIntervalDay(30)",
  });
  expect(await retry([], { reason: "unknown-tag" })).toEqual({ ...NOTHING_RETRIED, rejected: 1 });
  const { dead_letters: deadLetters } = await list({ reason: "older-than-retention" });
  expect(deadLetters).toMatchObject([{ reason: "older-than-retention", retried: expect.any(String) }]);
  expect((await list({ reason: "unknown-tag" })).dead_letters).toEqual([]);
});

async function addKey(dataset: "community" | "personal", workspaceId: string): Promise<string> {
  const { secret, credential } = makeCredential("sensor", { dataset, workspaceId }, NOW);
  await writeCredential(world.client, credential, NOW);
  await world.accessCache.refresh();
  return secret;
}

test("a dead letter of a sensor's key goes where that key publishes, and what the key forbids is rejected again", async () => {
  const key = await addKey("personal", "team-a");
  await intake.post([seen("45.2.0.1", { tags: ["new-tag"] }), seen("45.2.0.2", { dataset: "global" })], key);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  expect(await retry([], { all: true })).toEqual({ ...NOTHING_RETRIED, stored: 1, rejected: 1 });
  expect(await readStored(world)).toMatchObject([{ ip: "45.2.0.1", scope: "personal/team-a" }]);
  expect(await retry([], { reason: "not-permitted" })).toEqual({ ...NOTHING_RETRIED, rejected: 1 });
  expect(await retry([], { reason: "not-permitted", overridePermission: true })).toEqual({
    ...NOTHING_RETRIED,
    stored: 1,
  });
  expect(await readStored(world)).toMatchObject([{ scope: "personal/team-a" }, { ip: "45.2.0.2", scope: "global/" }]);
});

testInFull(
  "a retried line of a file is the observation that a second replay of the file brings, shifted and all",
  async () => {
    const file = join(tmpdir(), `noisefloor-dead-letters-${NOW}.ndjson`);
    onTestFinished(() => rm(file, { force: true }));
    const old = { observed_at: "2020-01-01T00:00:00Z" };
    const lines = [seen("45.3.0.1", { ...old, tags: ["new-tag"] }), seen("45.3.0.2", old)].map((one) =>
      JSON.stringify(one),
    );
    // Equal lines are separate observations.
    await writeFile(file, [lines[0], lines[1], lines[0], "{not json"].join("\n"));
    const replay = () =>
      runReplay([file], { format: "observations", shiftTo: new Date(NOW).toISOString() }, commandOver(world));
    await replay();
    expect(await readStored(world)).toHaveLength(1);
    await world.addTags([makeTag("new-tag", "suspicious")]);
    expect(await retry([], { all: true, source: "file" })).toEqual({ ...NOTHING_RETRIED, stored: 2, skipped: 1 });
    const after = await readStored(world);
    expect(after.map(({ ip }) => ip)).toEqual(["45.3.0.1", "45.3.0.1", "45.3.0.2"]);
    await replay();
    expect(await readStored(world)).toEqual(after);
    expect((await list()).counts, "a stored record is not open again").toMatchObject([
      { reason: "not-json", count: 1 },
    ]);
  },
);

test("a record that is rejected again after a retry has stored it is open again", async () => {
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
  expect(await retry([], { all: true })).toEqual({ ...NOTHING_RETRIED, stored: 1 });
  expect((await list()).counts).toEqual([]);
  await store(Date.now() + 60_000, "oversize");
  expect((await list()).counts).toMatchObject([{ reason: "oversize", state: "open", count: 1 }]);
  expect(await retry([], { all: true })).toEqual({ ...NOTHING_RETRIED, stored: 1 });
  expect(await readStored(world)).toHaveLength(1);
});

test("a retry that fails half-way does not report that it is complete", async () => {
  await intake.post([seen("45.6.1.1", { tags: ["new-tag"] })]);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  await world.client.command({ query: "RENAME TABLE observations TO elsewhere" });
  await world.client.command({ query: "CREATE VIEW observations AS SELECT * FROM elsewhere" });
  const command = commandOver(world);
  await expect(runDeadLettersRetry([], { ...RETRY_DEFAULTS, all: true }, command)).rejects.toThrow(/View/);
  expect(JSON.parse(command.lines.join(""))).toMatchObject({ is_complete: false, stored: 0 });
});

test("Ctrl-C ends a retry that waits for a store which rejects all inserts, and its dead letters are open as before", async () => {
  await intake.post([seen("45.6.2.1"), seen("45.6.2.2", { tags: ["new-tag"] })]);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  await world.client.command({ query: "ALTER TABLE observations MODIFY SETTING parts_to_throw_insert = 1" });
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 1_000);
  const command = commandOver(world, undefined, stop.signal);
  const start = performance.now();
  await runDeadLettersRetry([], { ...RETRY_DEFAULTS, all: true }, command);
  expect(performance.now() - start).toBeLessThan(15_000);
  expect(process.exitCode).toBe(130);
  process.exitCode = undefined;
  expect(JSON.parse(command.lines.join(""))).toMatchObject({ is_complete: false, stored: 0 });
  expect((await list()).counts).toMatchObject([{ reason: "unknown-tag", state: "open" }]);
});

testInFull("thousands of dead letters are all retried, and filters select them", async () => {
  const deadLetters = Array.from(
    { length: 12_001 },
    (_, index): DeadLetter => ({
      source: "http",
      ...toPayload(Buffer.from(JSON.stringify(seen(`45.${5 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`)))),
      // Many with the same origin and position, as when a request id repeats: paging must lose none of them.
      origin: `request-${Math.floor(index / 9_000)}`,
      position: 1,
      sender: { right: "shared-datasets" },
      rejection: { reason: index % 3 === 0 ? "unknown-tag" : "oversize", detail: "" },
    }),
  );
  await deadLetterStore(world.client, { now })(deadLetters);
  expect(await retry([], { reason: "unknown-tag", since: "1h" })).toEqual({ ...NOTHING_RETRIED, stored: 4_001 });
  expect((await list({ limit: 3 })).dead_letters).toHaveLength(3);
  expect((await list()).counts).toMatchObject([{ reason: "oversize", count: 8_000 }]);
  expect((await list({ since: new Date(NOW + 60_000).toISOString() })).counts).toEqual([]);
});
