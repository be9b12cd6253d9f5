import { createHttpApp, finishHttpApp } from "@noisefloor/http/app.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { headerFault } from "../support/oracle/answer-headers.ts";
import { silent } from "../support/worlds/http.ts";
import { createServedWorld, type ServedWorld } from "../support/worlds/served-world.ts";

const NOW = Date.now();
const SEEN = "45.1.1.1";
const PERSONAL = `/v3/ip/${SEEN}?workspace_labels=personal`;
let world: ServedWorld;

beforeAll(async () => {
  world = await createServedWorld(() => NOW);
});
afterAll(() => world.close());

const lines = (...head: string[]) => `${head.join("\r\n")}\r\nHost: localhost\r\nConnection: close\r\n\r\n`;

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

type Kept = { readonly varies: readonly string[]; readonly sent: Record<string, string>; readonly body: unknown };

/** A shared cache as RFC 9111 allows it: it keeps every response that does not forbid that, for a while. */
function sharedCache(app: FastifyInstance) {
  const kept = new Map<string, Kept[]>();
  return async (url: string, sent: Record<string, string>): Promise<unknown> => {
    const known = kept.get(url) ?? [];
    const hit = known.find(({ varies, sent: before }) => varies.every((name) => before[name] === sent[name]));
    if (hit !== undefined) return hit.body;
    const { headers, ...answer } = await app.inject({ method: "GET", url, headers: sent });
    const body: unknown = answer.json();
    const varies = String(headers.vary ?? "")
      .split(",")
      .map((name) => name.trim().toLowerCase())
      .filter((name) => name !== "");
    if (!/no-store|private/.test(headers["cache-control"] ?? "")) kept.set(url, [...known, { varies, sent, body }]);
    return body;
  };
}

test("a shared cache in front gives no caller the data of another workspace", async () => {
  const workspaceId = "workspace-of-one";
  const key = await world.addCaller("standard", ["community_dataset"], workspaceId);
  const other = await world.addCaller("standard", ["community_dataset"]);
  const observed_at = new Date(NOW - 60_000).toISOString();
  const seen = { observed_at, sensor_id: "s", source_ip: SEEN, dataset: "personal", workspace_id: workspaceId };
  await world.store([seen]);
  const ask = sharedCache(world.app);
  const found = { internet_scanner_intelligence: { found: true } };
  expect(await ask(PERSONAL, { key })).toMatchObject(found);
  expect(await ask(PERSONAL, { key: other })).not.toMatchObject(found);
  expect(await ask(PERSONAL, {})).toEqual({ message: expect.stringContaining("entitlement") });
  expect(await ask(PERSONAL, { key })).toMatchObject(found);
});
