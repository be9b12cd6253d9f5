import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { Socket } from "node:net";
import { Writable } from "node:stream";
import { storeHttpError } from "@noisefloor/cli/process/http/store-http-error.ts";
import { type ClickHouseClient, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, reader, run } from "@noisefloor/clickhouse/client/query.ts";
import { readMigrations } from "@noisefloor/clickhouse/schema/migrate.ts";
import { storeChecks } from "@noisefloor/clickhouse/schema/readiness.ts";
import { createHttpApp, finishHttpApp, type HttpAppOptions } from "@noisefloor/http/app.ts";
import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import { closeHttpApp } from "@noisefloor/http/server/listen.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
import { MIGRATIONS } from "../../support/worlds/databases.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

let world: World;
let client: ClickHouseClient;

beforeAll(async () => {
  world = await createWorld(Date.now);
  client = connect(inject("clickhouse"), "noisefloor-tests");
});
afterAll(async () => {
  await client.close();
  await world.close();
});

/** Runs for minutes, and can be found among the running queries by its mark. */
const endless = (mark: string) =>
  defineQuery({
    name: "endless",
    sql: `SELECT count() AS n FROM numbers(1000000000000) WHERE sipHash64(number, '${mark}') % 7 = 3`,
    params: z.object({}),
    row: z.object({ n: z.int() }),
  });
const greedy = defineQuery({
  name: "greedy",
  sql: "SELECT length(groupArray(number)) AS n FROM numbers(100000000) SETTINGS max_memory_usage = 10000000",
  params: z.object({}),
  row: z.object({ n: z.int() }),
});
const inProgress = (mark: string) =>
  defineQuery({
    name: "running-queries",
    sql: `SELECT count() AS n FROM system.processes WHERE query LIKE '%sipHash64(number, \\'${mark}%' AND query NOT LIKE '%system.processes%'`,
    params: z.object({}),
    row: z.object({ n: z.int() }),
  });
const running = async (mark: string) => (await run(client, inProgress(mark), {}))[0]?.n;

const slow = defineOperation({
  id: "slow",
  method: "GET",
  path: "/slow/{mark}",
  group: "Test",
  summary: "Asks something that takes too long",
  pathParameters: { mark: { schema: z.string(), description: "", errorMessage: "", example: "a" } },
  queryParameters: [],
  success: { status: 200, description: "", schema: z.array(z.object({ n: z.int() })), example: [] },
  errorResponses: {},
});

type Made = { app: FastifyInstance; logged: Record<string, unknown>[]; scrape: () => Promise<string> };

/** An application whose queries never end, with its log lines. */
async function makeSlowApp(maxSeconds: number, options: Partial<HttpAppOptions> = {}): Promise<Made> {
  const logged: Record<string, unknown>[] = [];
  const sink = new Writable({
    write(line, _encoding, done) {
      logged.push(z.record(z.string(), z.unknown()).parse(JSON.parse(String(line))));
      done();
    },
  });
  const log = pino({ level: "debug" }, sink);
  const metrics = createMetrics();
  const read = reader(client, {
    maxSeconds,
    onEnd: (query, outcome, seconds) => metrics.queryDuration.observe({ query, outcome }, seconds),
  });
  const app = await createHttpApp({ log, metrics, toHttpError: storeHttpError, deadlineMs: 60_000, ...options });
  app.implement(slow, (request, _reply, { signal }) =>
    request.params.mark === "greedy" ? read(greedy, {}, signal) : read(endless(request.params.mark), {}, signal),
  );
  await finishHttpApp(app, { operations: [slow], checks: {}, metrics, log });
  onTestFinished(() => app.close());
  return { app, logged, scrape: metrics.text };
}

test("an answer that takes longer than the deadline is a 503, and its query ends on the server", async () => {
  const { app, scrape } = await makeSlowApp(60, { deadlineMs: 1_000 });
  const response = await app.inject({ method: "GET", url: "/slow/deadline" });
  expect([response.statusCode, response.json()]).toEqual([
    503,
    { message: "The answer took longer than the time limit: ask for less, or again later" },
  ]);
  await eventually(async () => expect(await running("deadline")).toBe(0), 5_000);
  expect(await scrape()).toMatch(
    /noisefloor_store_query_duration_seconds_count\{query="endless",outcome="cancelled"\} 1/,
  );
});

test("the query of a client that disconnects is cancelled", async () => {
  const { app, logged, scrape } = await makeSlowApp(60);
  const address = await app.listen({ host: "127.0.0.1", port: 0 });
  const request = httpRequest(`${address}/slow/gone`).on("error", () => {});
  request.end();
  await eventually(async () => expect(await running("gone")).toBe(1));
  request.destroy();
  await eventually(async () => expect(await running("gone")).toBe(0), 5_000);
  await eventually(async () =>
    expect(await scrape()).toMatch(/noisefloor_http_requests_total\{operation="slow",status="499"\} 1/),
  );
  expect(logged.filter(({ level }) => Number(level) >= 40)).toEqual([]);
});

test.each(["time", "greedy"])("a query over a limit of the server (%s) is a 503 that says what to do", async (mark) => {
  const { app } = await makeSlowApp(1);
  const response = await app.inject({ method: "GET", url: `/slow/${mark}` });
  expect([response.statusCode, response.json()]).toEqual([
    503,
    { message: "The query hit a limit of time or memory: ask for less, or again later" },
  ]);
});

test("the query service cannot change anything, whatever a query says", async () => {
  const read = reader(world.client, { maxSeconds: 5 });
  const drop = defineQuery({ name: "drop", sql: "DROP TABLE tags", params: z.object({}), row: z.object({}) });
  await expect(read(drop, {})).rejects.toMatchObject({ code: "164" });
});

test("ready: the store answers and its schema is current; alive: the process answers", async () => {
  const log = pino({ level: "silent" });
  const migrations = await readMigrations(MIGRATIONS);
  const away = connect({ ...inject("clickhouse"), url: "http://127.0.0.1:1" }, "noisefloor-tests");
  const ask = async (path: string, to: ClickHouseClient, known = migrations) => {
    const metrics = createMetrics();
    const app = await createHttpApp({ log, metrics, deadlineMs: 10_000 });
    await finishHttpApp(app, { operations: [], checks: storeChecks(to, known), metrics, log });
    const response = await app.inject({ method: "GET", url: path });
    await app.close();
    return [response.statusCode, path === "/metrics" ? response.body : response.json()];
  };
  const newer = { version: 9_999, name: "newer", statements: [], fills: [], checksum: "" };
  expect(await ask("/readyz", world.client)).toEqual([
    200,
    { status: "ready", checks: { clickhouse: "ok", migrations: "ok" } },
  ]);
  expect(await ask("/readyz", world.client, [...migrations, newer])).toEqual([
    503,
    {
      message: "Not ready: migrations",
      status: "unavailable",
      checks: { clickhouse: "ok", migrations: "unavailable" },
    },
  ]);
  expect(await ask("/readyz", away)).toMatchObject([503, { message: "Not ready: clickhouse, migrations" }]);
  expect(await ask("/healthz", away)).toEqual([200, { status: "ok" }]);
  expect(await ask("/metrics", world.client)).toContainEqual(
    expect.stringMatching(/^noisefloor_ready\{check="clickhouse"\} 1\nnoisefloor_ready\{check="migrations"\} 1$/m),
  );
  expect(await ask("/metrics", away)).toContainEqual(
    expect.stringMatching(/^noisefloor_ready\{check="clickhouse"\} 0$/m),
  );
  await away.close();
});

test("metrics count requests by operation and status, time them, and need the token if there is one", async () => {
  const metrics = createMetrics();
  const log = pino({ level: "silent" });
  const app = await createHttpApp({ log, metrics, deadlineMs: 10_000 });
  await finishHttpApp(app, { operations: [], checks: {}, metrics, metricsToken: "secret", log });
  onTestFinished(() => app.close());
  await app.inject({ method: "GET", url: "/no/such/path" });
  await app.inject({ method: "GET", url: "/healthz" });
  const scrape = (authorization?: string) =>
    app.inject({ method: "GET", url: "/metrics", headers: authorization === undefined ? {} : { authorization } });
  expect((await scrape()).statusCode).toBe(401);
  expect((await scrape("Bearer wrong")).statusCode).toBe(401);
  const answer = await scrape("Bearer secret");
  expect(answer.headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(answer.body).toContain('noisefloor_http_requests_total{operation="none",status="404"} 1');
  expect(answer.body).toContain('noisefloor_http_requests_total{operation="health",status="200"} 1');
  expect(answer.body).toContain('noisefloor_http_requests_total{operation="metrics",status="401"} 2');
  expect(answer.body).toMatch(/noisefloor_http_request_duration_seconds_count\{operation="health"\} 1/);
  expect(answer.body).toContain("process_cpu_seconds_total");
});

test("every answer is a log line with a request id, and neither keys nor query strings nor callers' addresses", async () => {
  const { app, logged } = await makeSlowApp(5);
  const headers = { key: "a-secret-key", "x-request-id": "id-from-a-proxy" };
  const response = await app.inject({ method: "GET", url: "/nowhere?key=another-secret", headers });
  expect(response.headers["x-request-id"]).toBe("id-from-a-proxy");
  expect(logged).toMatchObject([{ requestId: "id-from-a-proxy", path: "/nowhere", status: 404, method: "GET" }]);
  expect(JSON.stringify(logged)).not.toMatch(/secret|127\.0\.0\.1/);
  const forged = await app.inject({ method: "GET", url: "/nowhere", headers: { "x-request-id": 'x"\n{}' } });
  expect(forged.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);

  const withAddresses = await makeSlowApp(5, { logsClientAddresses: true });
  await withAddresses.app.inject({ method: "GET", url: "/nowhere" });
  expect(withAddresses.logged).toMatchObject([{ client: "127.0.0.1" }]);
});

test("pages of configured origins may call and read the limits, all others may not; pages may not be framed", async () => {
  const origin = "https://dashboard.example.org";
  const { app } = await makeSlowApp(5, { corsOrigins: [origin] });
  const preflight = (from: string) =>
    app.inject({
      method: "OPTIONS",
      url: "/slow/cors",
      headers: { origin: from, "access-control-request-method": "GET", "access-control-request-headers": "key" },
    });
  const allowed = await preflight(origin);
  expect(allowed.statusCode).toBe(204);
  expect(allowed.headers).toMatchObject({
    "access-control-allow-origin": origin,
    "access-control-allow-headers": "key, authorization, content-type, if-none-match",
  });
  expect((await preflight("https://elsewhere.example.org")).headers["access-control-allow-origin"]).toBeUndefined();
  const answer = await app.inject({ method: "GET", url: "/healthz", headers: { origin } });
  expect(answer.headers).toMatchObject({
    "access-control-allow-origin": origin,
    "access-control-expose-headers": expect.stringContaining(
      "ratelimit-limit, ratelimit-remaining, ratelimit-reset, unknown-parameters, x-request-id",
    ),
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none';frame-ancestors 'none'",
  });
  const closed = await makeSlowApp(5);
  const none = await closed.app.inject({ method: "GET", url: "/healthz", headers: { origin } });
  expect(none.headers["access-control-allow-origin"]).toBeUndefined();
});

test.each([
  ["a configured proxy", "10.1.2.3", "203.0.113.7, 192.0.2.5", "192.0.2.5"],
  ["proxy behind proxy", "10.1.2.3", "192.0.2.5, 10.9.9.9", "192.0.2.5"],
  ["any other client", "192.0.2.99", "203.0.113.7", "192.0.2.99"],
])("from %s the client's address is found", async (_, remoteAddress, forwarded, client) => {
  const { app, logged } = await makeSlowApp(5, { trustedProxies: ["10.0.0.0/8"], logsClientAddresses: true });
  await app.inject({ method: "GET", url: "/nowhere", remoteAddress, headers: { "x-forwarded-for": forwarded } });
  expect(logged).toMatchObject([{ client }]);
});

test("frequent readiness checks use few connections, and cost the store little", async () => {
  const checks = storeChecks(world.client, await readMigrations(MIGRATIONS));
  for (let asked = 0; asked < 40; asked++) await checks.clickhouse();
  let looks = 0;
  const metrics = createMetrics();
  const log = pino({ level: "silent" });
  const app = await createHttpApp({ log, metrics, deadlineMs: 10_000 });
  onTestFinished(() => app.close());
  const counted = async () => {
    looks++;
    await checks.migrations();
  };
  await finishHttpApp(app, { operations: [], checks: { counted }, metrics, log });
  const answers = await Promise.all(Array.from({ length: 200 }, () => app.inject({ method: "GET", url: "/readyz" })));
  expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  expect(looks).toBeLessThan(20);
});

test("a shutdown waits for open responses, whose errors are our own, but not for requests that never arrive", async () => {
  const metrics = createMetrics();
  const log = pino({ level: "silent" });
  const app = await createHttpApp({ log, metrics, deadlineMs: 20_000 });
  const stalled = new Socket();
  const stalledEnded = once(stalled, "close");
  app.implement(slow, async () => {
    await stalledEnded;
    return [];
  });
  await finishHttpApp(app, { operations: [slow], checks: {}, metrics, log });
  const address = await app.listen({ host: "127.0.0.1", port: 0 });
  let requests = 0;
  app.server.on("request", () => requests++);
  const answer = fetch(`${address}/slow/stop`).then((response) => response.status);
  stalled.connect(Number(new URL(address).port), "127.0.0.1").resume();
  stalled.write("GET /slow/never HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf");
  await eventually(async () => expect(requests).toBe(2));
  await closeHttpApp(app);
  expect(await answer).toBe(200);
});
