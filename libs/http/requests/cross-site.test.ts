import { once } from "node:events";
import { connect } from "node:net";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createHttpApp, finishHttpApp, type HttpAppOptions } from "../app.ts";
import { defineOperation } from "../operations/operation.ts";
import type { SiteOptions } from "./cross-site.ts";

const operation = (method: "GET" | "POST") =>
  defineOperation({
    id: method,
    method,
    path: "/things",
    group: "Test",
    summary: "",
    pathParameters: {},
    queryParameters: [],
    success: { status: 200, description: "", schema: z.object({}), example: {} },
    errorResponses: {},
  });
const OPERATIONS = [operation("GET"), operation("POST")];
const LOCAL: SiteOptions = { host: "127.0.0.1", allowedHosts: [], isIntakeOpen: () => true };
const EVERYWHERE: SiteOptions = { ...LOCAL, host: "0.0.0.0" };
const FOREIGN = { origin: "https://foreign.example", "sec-fetch-site": "cross-site" };

type Ask = (method: "GET" | "POST" | "HEAD", headers?: Record<string, string>, url?: string) => Promise<number>;

async function asker(site: SiteOptions, options: Partial<HttpAppOptions> = {}): Promise<Ask> {
  const made = { log: pino({ level: "silent" }), metrics: createMetrics(), deadlineMs: 1_000, site, ...options };
  const app = await createHttpApp(made);
  onTestFinished(() => app.close());
  for (const each of OPERATIONS) app.implement(each, async () => ({}));
  await finishHttpApp(app, { operations: OPERATIONS, checks: {}, metrics: made.metrics, log: made.log });
  return async (method, headers = {}, url = "/things") => {
    const answer = await app.inject({ method, url, headers: { host: "localhost:8080", ...headers } });
    if (answer.statusCode === 403) expect(answer.json()).toEqual({ message: expect.stringMatching(/^(Web|The) /) });
    return answer.statusCode;
  };
}

test.each([
  ["a page of another origin", FOREIGN],
  ["a page of another origin, in a browser that sends Origin only", { origin: "https://foreign.example" }],
  ["another port of the same machine", { origin: "http://localhost:3000", "sec-fetch-site": "same-site" }],
  ["a page that hides its origin", { origin: "null" }],
  ["a form without an origin", { "sec-fetch-site": "cross-site" }],
])("%s cannot send anything without a key, but may be linked from", async (_name, headers) => {
  const ask = await asker(LOCAL);
  expect([await ask("POST", headers), await ask("GET", headers)]).toEqual([403, 200]);
  expect(await ask("POST", { ...headers, key: "" })).toBe(403);
  expect(await ask("POST", { ...headers, key: "a-key" }), "pages do not know keys").toBe(200);
  expect(await ask("POST", { ...headers, authorization: "Bearer a-key" })).toBe(200);
  expect(await ask("POST", { ...headers, authorization: "Basic abc" }), "browsers send it by themselves").toBe(403);
});

test.each([
  ["programs", {}],
  ["the service's own page", { origin: "http://localhost:8080", "sec-fetch-site": "same-origin" }],
  ["the same in a browser that sends Origin only", { origin: "http://localhost:8080" }],
  ["the same behind a proxy", { origin: "https://noise.example", "sec-fetch-site": "same-origin" }],
  ["the same, known by PUBLIC_URL", { origin: "https://noise.example" }],
  ["a page of a configured origin", { origin: "https://a.example", "sec-fetch-site": "cross-site" }],
])("%s can", async (_name, headers) => {
  const ask = await asker(
    { ...LOCAL, publicUrl: "https://noise.example/base" },
    { corsOrigins: ["https://a.example"] },
  );
  expect(await ask("POST", headers)).toBe(200);
});

test("with CORS_ORIGINS=* any page can", async () => {
  expect(await (await asker(LOCAL, { corsOrigins: ["*"] }))("POST", FOREIGN)).toBe(200);
});

const KNOWN = [
  "localhost",
  "LOCALHOST:80",
  "127.0.0.1:8080",
  "[::1]:8080",
  "192.0.2.7",
  "noise.example",
  "a.example:1",
];
const UNKNOWN = [
  "foreign.example",
  "foreign.example:8080",
  "localhost.foreign.example",
  "127.0.0.1.foreign.example",
  "localhost@foreign.example",
];

test.each([
  ["on this machine alone", { ...LOCAL, isIntakeOpen: () => false }],
  ["open for observations without a key", EVERYWHERE],
])("a service %s answers only under its address or a known name", async (_name, options) => {
  const ask = await asker({ ...options, publicUrl: "https://noise.example", allowedHosts: ["A.example"] });
  for (const host of KNOWN) expect([host, await ask("GET", { host })]).toEqual([host, 200]);
  for (const host of UNKNOWN) {
    expect([host, await ask("GET", { host }), await ask("POST", { host })]).toEqual([host, 403, 403]);
    expect(await ask("GET", { host, key: "a-key" }), "pages do not know keys").toBe(200);
    // A key does not open an operation that does not check keys.
    for (const path of ["/metrics", "/openapi.json", "/docs"]) {
      expect([path, await ask("GET", { host, key: "a-key" }, path)]).toEqual([path, 403]);
    }
    for (const path of ["/healthz", "/readyz"]) expect(await ask("GET", { host }, path)).toBe(200);
  }
});

test.each([
  ["a second Host", "GET /things HTTP/1.1\r\nHost: localhost\r\nHost: foreign.example"],
  ["a first Host", "GET /things HTTP/1.1\r\nHost: foreign.example\r\nhost: localhost"],
  ["an absolute target", "GET http://foreign.example/things HTTP/1.1\r\nHost: localhost"],
  [
    "an absolute target with a port and a user",
    "GET http://localhost@foreign.example:80/things HTTP/1.1\r\nHost: localhost",
  ],
])("a foreign name in %s is rejected as one in Host alone", async (_where, head) => {
  const app = await createHttpApp({
    log: pino({ level: "silent" }),
    metrics: createMetrics(),
    deadlineMs: 1_000,
    site: LOCAL,
  });
  onTestFinished(() => app.close());
  for (const each of OPERATIONS) app.implement(each, async () => ({}));
  const url = new URL(await app.listen({ host: "127.0.0.1", port: 0 }));
  const statusOf = async (text: string) => {
    const socket = connect(Number(url.port), "127.0.0.1").setEncoding("utf8");
    socket.write(`${text}\r\nConnection: close\r\n\r\n`);
    const [answer] = await once(socket, "data");
    socket.destroy();
    return String(answer).slice(9, 12);
  };
  expect(await statusOf(head)).toBe("403");
  expect(await statusOf(head.replaceAll("foreign.example", "localhost")), "and our own name is not").toBe("200");
});

test("the name of a container is known in its network, and not on loopback", async () => {
  const host = "ingest:8080";
  expect(await (await asker(EVERYWHERE))("POST", { host })).toBe(200);
  expect(await (await asker(LOCAL))("POST", { host })).toBe(403);
  expect(await (await asker({ ...LOCAL, allowedHosts: ["ingest"] }))("POST", { host })).toBe(200);
});

test("a service that other machines reach answers under any name once sensors need a key, or if ALLOWED_HOSTS says so", async () => {
  const host = "any.example";
  let isOpen = true;
  const ask = await asker({ ...EVERYWHERE, isIntakeOpen: () => isOpen });
  expect(await ask("GET", { host })).toBe(403);
  isOpen = false;
  expect(await ask("GET", { host })).toBe(200);
  expect(await (await asker({ ...LOCAL, allowedHosts: ["*"] }))("GET", { host })).toBe(200);
});
