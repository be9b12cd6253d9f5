import { createHttpApp, finishHttpApp } from "@noisefloor/http/app.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { headerFault } from "../support/oracle/answer-headers.ts";
import { silent } from "../support/worlds/http.ts";
import { createServedWorld, type ServedWorld } from "../support/worlds/served-world.ts";
import { makeTag } from "../support/worlds/world.ts";

const NOW = Date.now();
const tag = makeTag("worm", "malicious");
const UNKNOWN = "45.9.9.9";
let world: ServedWorld;
let key: string;
let other: string;

beforeAll(async () => {
  world = await createServedWorld(() => NOW);
  await world.addTags([tag]);
  key = await world.addCaller("standard", ["community_dataset"]);
  other = await world.addCaller("community");
});
afterAll(() => world.close());

/** A request as bytes on the wire. */
const lines = (...head: string[]) => `${head.join("\r\n")}\r\nHost: noisefloor.test\r\nConnection: close\r\n\r\n`;

test("an empty key header, as the Python SDK sends it without a key, means no key", async () => {
  const { status, headers, body } = await world.raw(lines(`GET /v3/community/${UNKNOWN} HTTP/1.1`, "key: "));
  expect(status).toBe(404);
  expect(headers.get("ratelimit-limit"), "the limit of callers without a key").toBe("100");
  expect(JSON.parse(body)).toMatchObject({ ip: UNKNOWN });
  for (const path of ["/v3/tags", `/v3/ip/${UNKNOWN}`, `/v3/noise/ips/${UNKNOWN}/timeline`]) {
    expect((await world.raw(lines(`GET ${path} HTTP/1.1`, "key:"))).status, path).toBe(200);
  }
});

test("the key's header name is written in any case", async () => {
  for (const name of ["key", "Key", "KEY"]) {
    expect((await world.raw(lines("GET /ping HTTP/1.1", `${name}: ${key}`))).status).toBe(200);
  }
});

test("an unknown key is 401 in every operation, as header and as bearer token", async () => {
  // All at the same time: for an unknown key, the store is asked at most once at a time.
  const answers = QUERY_OPERATIONS.map(async ({ method, path, body, pathParameters }, index) => {
    const url = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(pathParameters[name]?.example ?? ""));
    const headers = index % 2 === 0 ? { key: "not-known" } : { authorization: "Bearer not-known" };
    const payload = body === undefined ? {} : { payload: JSON.stringify(body.example) };
    const answer = await world.app.inject({ method, url, headers, ...payload });
    return [path, answer.statusCode, answer.json()];
  });
  const unauthorized = { message: "Unauthorized" };
  expect(await Promise.all(answers)).toEqual(QUERY_OPERATIONS.map(({ path }) => [path, 401, unauthorized]));
});

/** The plan as which a caller is known, or the status of the rejection. */
async function planOf(headers: Record<string, string>): Promise<string | number> {
  const answer = await fetch(`${world.url}/v3/plans`, { headers });
  if (answer.status !== 200) return answer.status;
  return z.object({ caller: z.object({ plan: z.string() }) }).parse(await answer.json()).caller.plan;
}

test("a key counts as header and as bearer token alike", async () => {
  expect(await planOf({ key })).toBe("standard");
  expect(await planOf({ authorization: `Bearer ${key}` })).toBe("standard");
  expect(await planOf({ authorization: `bearer  ${key} ` })).toBe("standard");
  expect(await planOf({ key: "", authorization: `Bearer ${key}` })).toBe("standard");
});

test("the header key wins over a token, and an unknown token is rejected as an unknown key is", async () => {
  expect(await planOf({ key, authorization: `Bearer ${other}` })).toBe("standard");
  expect(await planOf({ authorization: "Bearer made-up" })).toBe(401);
});

test("what a proxy may put into Authorization for itself is no key", async () => {
  for (const authorization of ["", "Bearer", "Bearer ", `Basic ${Buffer.from(`x:${key}`).toString("base64")}`, key]) {
    expect([authorization, await planOf({ authorization })]).toEqual([authorization, "unauthenticated"]);
  }
});

test("a doubled slash, as from a base URL that ends in one, is treated as a single one", async () => {
  for (const path of [`//v3/community/${UNKNOWN}`, `///v3/community/${UNKNOWN}`, `/v3//community///${UNKNOWN}`]) {
    const { status, body } = await world.raw(lines(`GET ${path} HTTP/1.1`));
    expect(status).toBe(404);
    expect(JSON.parse(body)).toMatchObject({ ip: UNKNOWN });
  }
  const { status, body } = await world.raw(lines("GET //v3/tags?slug=worm HTTP/1.1"));
  expect(status).toBe(200);
  expect(JSON.parse(body)).toMatchObject({ tags: [{ id: tag.id }] });
});

test("a GET with a Content-Type header is answered like one without", async () => {
  for (const type of ["application/json", "application/x-www-form-urlencoded", "text/plain", "nonsense"]) {
    const { status } = await world.raw(lines("GET /v3/tags HTTP/1.1", `Content-Type: ${type}`));
    expect([type, status]).toEqual([type, 200]);
  }
  const withLength = lines("GET /v3/tags HTTP/1.1", "Content-Type: application/json", "Content-Length: 0");
  expect((await world.raw(withLength)).status).toBe(200);
});

test("every answer is JSON by its Content-Type and by its body, errors too", async () => {
  const requests = [
    lines("GET /v3/tags HTTP/1.1"),
    lines(`GET /v3/community/${UNKNOWN} HTTP/1.1`),
    lines("GET /v3/community/10.0.0.1 HTTP/1.1"),
    lines("GET /ping HTTP/1.1"),
    lines("GET /nowhere HTTP/1.1"),
    lines("DELETE /v3/tags HTTP/1.1"),
    lines("GET /v3/community/%zz HTTP/1.1"),
    lines("POST /v3/ip HTTP/1.1", "Content-Type: application/json", "Content-Length: 0"),
    lines("POST /v3/ip HTTP/1.1", "Content-Type: text/html", "Content-Length: 0"),
    lines("nonsense"),
    lines("GET /v3/tags HTTP/1.1", `X-Long: ${"x".repeat(20_000)}`),
    lines(`GET /v3/community/${UNKNOWN} HTTP/1.1`, "Accept: text/html"),
  ];
  for (const request of requests) {
    const { status, headers, body } = await world.raw(request);
    const what = `${status} for ${request.split("\r\n")[0]}`;
    expect(headers.get("content-type"), what).toMatch(/^application\/json(?:;|$)/);
    const said: unknown = JSON.parse(body);
    if (status >= 400) expect(said, what).toMatchObject({ message: expect.stringMatching(/\S/) });
  }
});

test("an unknown path is 404 and a known one with another method 405, each with a message", async () => {
  for (const path of ["/v3", "/v3/tag", "/v3/community", "/v1/nothing", "/v3/gnql/nothing"]) {
    const answer = await fetch(world.url + path);
    expect([path, answer.status, await answer.json()]).toEqual([path, 404, { message: expect.any(String) }]);
  }
  const wrong = [
    ["POST", `/v3/community/${UNKNOWN}`],
    ["PUT", "/v3/tags"],
    ["DELETE", `/v3/tags/${tag.id}/activity`],
    ["GET", "/v3/ip"],
    ["PATCH", `/v3/noise/ips/${UNKNOWN}/timeline`],
    ["GET", "/v2/noise/multi/context"],
    ["POST", "/ping"],
  ] as const;
  for (const [method, path] of wrong) {
    const answer = await fetch(world.url + path, { method });
    expect([path, answer.status, await answer.json()]).toEqual([path, 405, { message: expect.any(String) }]);
    expect(answer.headers.get("allow")).toMatch(/GET|POST/);
  }
});

test("unknown query parameters are ignored and named in the header, a repeated known one is 400", async () => {
  const paths = [
    ["/v3/tags?slug=worm", "slug"],
    [`/v3/tags/${tag.id}/activity?days=2`, "days"],
    [`/v3/ip/${UNKNOWN}?quick=true`, "quick"],
    [`/v3/noise/ips/${UNKNOWN}/timeline?field=classification`, "field"],
  ] as const;
  for (const [path, name] of paths) {
    const answer = await fetch(`${world.url}${path}&whatever=1&whatever=2`);
    expect([path, answer.status]).toEqual([path, 200]);
    expect(answer.headers.get("unknown-parameters")).toBe('"whatever"');
    expect((await fetch(world.url + path)).headers.has("unknown-parameters")).toBe(false);
    const repeated = await fetch(`${world.url}${path}&${path.split("?")[1]}`);
    expect([path, repeated.status]).toEqual([path, 400]);
    expect(await repeated.json()).toEqual({ message: expect.stringContaining(name) });
  }
});

test("an unknown path is 404 whatever comes with it", async () => {
  for (const type of ["application/json", "application/xml", "none"]) {
    const answer = await fetch(`${world.url}/v3/nothing`, {
      method: "POST",
      body: "{",
      headers: { "content-type": type },
    });
    expect([type, answer.status, await answer.json()]).toEqual([type, 404, { message: "Not found" }]);
  }
});

test("an invalid percent-encoding is no address, no id and no path", async () => {
  const said = async (path: string) => {
    const { status, body } = await world.raw(lines(`GET ${path} HTTP/1.1`));
    return [status, JSON.parse(body).message];
  };
  for (const text of ["%zz", "%", "8.8.8.8%", "%c3%28", "%ed%a0%80"]) {
    expect(await said(`/v3/community/${text}`)).toEqual([400, "Request is not a valid routable IPv4 address"]);
    expect(await said(`/v3/ip/${text}`)).toEqual([400, "Invalid parameter: ip"]);
    expect(await said(`/v3/tags/${text}/activity`)).toEqual([400, "Invalid parameter: id takes a tag's UUID or slug"]);
    expect(await said(`/v3/${text}`)).toEqual([404, "Not found"]);
  }
});

test("no error names a library, a place in the code or a query", async () => {
  const paths = ["/nowhere", "/v3/community/%zz", "/v3/tags/x/activity", `/v3/ip/${UNKNOWN}?quick=%00`, "/v3/ip/%00"];
  for (const path of paths) {
    const text = await (await fetch(world.url + path)).text();
    expect(text, path).not.toMatch(/fastify|clickhouse|zod|FST_|at \w+ \(|\.ts\b|select /i);
    expect(Object.keys(JSON.parse(text)), path).toEqual(["message"]);
  }
});

test("every answer, errors too, says that no cache may keep it and that it depends on the key", async () => {
  const page = await fetch(`${world.url}/docs/static/index.css`);
  const requests = [
    ...["/v3/tags", "/v3/community/10.0.0.1", "/ping", "/nowhere", "/healthz", "/readyz", "/metrics", "/openapi.json"],
    ...["/docs", "/docs/static/index.css", "/v3/community/%zz", "/%zz", `/v3/tags?name=${"x".repeat(20_000)}`],
  ].map((path) => lines(`GET ${path} HTTP/1.1`));
  requests.push(
    lines("HEAD /v3/tags HTTP/1.1"),
    lines("HEAD /docs/static/index.css HTTP/1.1"),
    lines("DELETE /v3/tags HTTP/1.1"),
    lines("GET /docs/static/index.css HTTP/1.1", `If-None-Match: ${page.headers.get("etag")}`),
    lines("GET /v3/tags HTTP/1.1", "Expect: nothing"),
    "GET /v3/tags HTTP/1.1\r\nConnection: close\r\n\r\n",
    "this is not HTTP\r\n\r\n",
    "POST /v3/ip HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n",
  );
  const statuses = new Set<number>();
  for (const request of requests) {
    const { status, headers } = await world.raw(request);
    statuses.add(status);
    const what = `${status} for ${request.slice(0, 60).split("\r\n")[0]}`;
    expect([what, headerFault(Object.fromEntries(headers))]).toEqual([what, undefined]);
  }
  expect(statuses).toEqual(new Set([200, 304, 400, 401, 404, 405, 431]));
});

test("an answer that also depends on its page's origin says both", async () => {
  const app = await createHttpApp({
    log: silent,
    metrics: createMetrics(),
    deadlineMs: 1_000,
    corsOrigins: ["https://a.example"],
  });
  onTestFinished(() => app.close());
  await finishHttpApp(app, { operations: [], checks: {}, metrics: createMetrics(), log: silent });
  const vary = async (method: "GET" | "OPTIONS") => {
    const headers = { origin: "https://a.example", "access-control-request-method": "GET" };
    const answer = await app.inject({ method, url: "/healthz", headers });
    return [answer.headers["cache-control"], answer.headers.vary];
  };
  expect(await vary("GET")).toEqual(["no-store", "Origin, key"]);
  expect(await vary("OPTIONS")).toEqual(["no-store", "Origin, key"]);
});
