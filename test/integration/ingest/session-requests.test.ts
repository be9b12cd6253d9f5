import { openRows } from "@noisefloor/cli/rows/row-options.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
let world: World;
/** Two processes over one store, as when a topic's partition moves from one to the other. */
const processes: FastifyInstance[] = [];

beforeAll(async () => {
  world = await createWorld(() => NOW);
  for (let each = 0; each < 2; each++) {
    const { rows, stop } = await openRows(commandOver(world), world.client, world.catalogue);
    world.beforeClose(async () => stop());
    const ingest = await ingestOf(
      world,
      undefined,
      () => NOW,
      [],
      createMetrics(),
      () => RETENTION_DAYS,
      { rows },
    );
    processes.push(await makeApp(INGEST_OPERATIONS, ingest.register));
  }
  await world.refresh();
});
afterAll(async () => {
  for (const app of processes) await app.close();
  await world.close();
});

const stored = defineQuery({
  name: "test-session-requests",
  sql: `SELECT observation_id AS id, toUnixTimestamp64Milli(observed_at) AS at, session_id AS session, http_method AS method,
      http_path AS path, http_query AS query, http_user_agent AS agent, http_body_head AS body, destination_port AS port,
      transport, application, login_attempts AS logins, labels
    FROM observations FINAL WHERE source_ip = {ip:IPv4} ORDER BY at, id`,
  params: z.object({ ip: z.string() }),
  row: z.object({
    id: z.string(),
    at: z.int(),
    session: z.string(),
    method: z.string(),
    path: z.string(),
    query: z.string(),
    agent: z.string(),
    body: z.string(),
    port: z.int().nullable(),
    transport: z.string(),
    application: z.string(),
    logins: z.int(),
    labels: z.array(z.string()),
  }),
});
const rowsOf = (ip: string) => run(world.client, stored, { ip });

async function post(records: readonly object[], by = 0) {
  const payload = records.map((record) => JSON.stringify(record)).join("\n");
  const answer = await processes[by]?.inject({ method: "POST", url: "/v1/observations", payload });
  expect(answer?.json()).toMatchObject({ accepted: records.length, rejected: 0 });
}

const details = z.object({
  internet_scanner_intelligence: z.object({ tags: z.array(z.object({ slug: z.string() })) }),
});

test("of a session's three requests each is found by its path and has its tags; sent again, cut or reversed, nothing changes", async () => {
  const ip = "192.175.48.155";
  const web = { session_id: "s1", transport: "tcp", destination_port: 80, application: "http" };
  const records = [
    { method: "GET", path: "/" },
    { method: "GET", path: "/.env" },
    { method: "POST", path: "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php" },
  ].map((http, index) => observation(ip, NOW - 60_000 + index * 1_000, { ...web, http }));
  await post(records);
  const first = await rowsOf(ip);
  expect(first.map(({ path }) => path)).toEqual(
    records.map(({ http }) => z.object({ path: z.string() }).parse(http).path),
  );
  const answer = await world.get(`/v3/ip/${ip}`);
  const slugs = details.parse(answer.body).internet_scanner_intelligence.tags.map(({ slug }) => slug);
  expect(slugs).toEqual(expect.arrayContaining(["env-scanner", "phpunit-rce-attempt"]));
  expect(JSON.stringify(answer.body)).toContain('"/.env"');

  const [one, two, three] = records;
  await post(records.toReversed());
  for (const piece of [[two, one], [three]])
    await post(
      piece.flatMap((record) => record ?? []),
      1,
    );
  expect(await rowsOf(ip)).toEqual(first);
  expect((await world.get(`/v3/ip/${ip}`)).body).toEqual(answer.body);
});

test("a session that one process begins and another continues keeps its requests, bodies and logins once", async () => {
  const ip = "45.83.66.1";
  const at = (second: number, members: object) =>
    observation(ip, NOW - 60_000 + second * 1_000, { observation_id: `w-${second}`, session_id: "w", ...members });
  const login = { credentials: [{ username: "root", password: "x" }], login_attempts: 1 };
  const connect = at(0, { destination_port: 8080, transport: "tcp", application: "tcp", labels: ["web"] });
  const log = [
    at(1, { http: { method: "POST", path: "/login", body: "a=1" }, ...login, application: "http" }),
    at(2, { http: { method: "POST", path: "/login", body: "a=2" }, ...login }),
    at(3, { http: { method: "POST", path: "/login", body: "a=3" } }),
    at(4, { http: { method: "GET", path: "/x", query: "a=1", user_agent: "curl" } }),
    at(5, { http: { method: "GET", path: "/x", query: "a=1", user_agent: "zgrab" } }),
    at(6, login),
  ];
  await post([connect]);
  for (let start = 0; start < log.length; start += 2) await post(log.slice(start, start + 2), (start / 2) % 2);
  const first = await rowsOf(ip);
  expect(
    first.map(({ method, path, body, agent, logins, labels }) => [method, path, body, agent, logins, labels]),
  ).toEqual([
    ["POST", "/login", "a=1", "", 2, ["web"]],
    ["POST", "/login", "a=2", "", 1, []],
    ["POST", "/login", "a=3", "", 0, []],
    ["GET", "/x", "", "curl", 0, []],
    ["GET", "/x", "", "zgrab", 0, []],
  ]);
  for (const row of first)
    expect(row).toMatchObject({ session: "w", port: 8080, transport: "tcp", application: "http" });

  await post([...log, connect].toReversed());
  await post(log.slice(2), 1);
  expect(await rowsOf(ip)).toEqual(first);
});

test("the application that says more is kept, whichever of a connection's records comes first", async () => {
  const records = (ip: string) =>
    ["weird", "ssh"].map((application) => observation(ip, NOW - 60_000, { session_id: "c", application }));
  await post(records("45.83.66.2"));
  await post(records("45.83.66.3").slice(1));
  await post(records("45.83.66.3").slice(0, 1));
  for (const ip of ["45.83.66.2", "45.83.66.3"]) expect(await rowsOf(ip)).toMatchObject([{ application: "ssh" }]);
});
