import { Writable } from "node:stream";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createHttpApp } from "../app.ts";
import { defineOperation } from "../operations/operation.ts";
import { text } from "./parameters.ts";

const operation = defineOperation({
  id: "getSomething",
  method: "GET",
  path: "/something/{name}",
  group: "Test",
  summary: "",
  pathParameters: { name: { description: "", schema: z.string(), errorMessage: "", example: "x" } },
  queryParameters: [text({ name: "slug", description: "", example: "x" })],
  success: { status: 200, description: "", schema: z.strictObject({}), example: {} },
  errorResponses: {},
});

/** An application with an operation that runs `handle`, and the lines that it logs. */
async function makeLogged(handle: () => Promise<Record<string, never>>, level = "info") {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const metrics = createMetrics();
  const app = await createHttpApp({ log: pino({ level }, sink), metrics, deadlineMs: 20 });
  app.implement(operation, handle);
  onTestFinished(() => app.close());
  const headers = { "x-request-id": "mine" };
  return { ask: (url: string) => app.inject({ method: "GET", url, headers }), lines, metrics };
}

const parsed = (lines: readonly string[]) => lines.map((line): unknown => JSON.parse(line));

test("a path that cannot be decoded is answered, logged and counted as any other", async () => {
  const { ask, lines, metrics } = await makeLogged(async () => ({}));
  const answer = await ask("/something%/%ff?key=secret");
  expect([answer.statusCode, answer.headers["x-request-id"]]).toEqual([404, "mine"]);
  expect(parsed(lines)).toEqual([
    expect.objectContaining({
      requestId: "mine",
      operation: "none",
      path: expect.stringMatching(/^\/something%/),
      status: 404,
    }),
  ]);
  expect(await metrics.httpRequests.counter.get()).toMatchObject({
    values: [{ labels: { operation: "none", status: 404 }, value: 1 }],
  });
});

test("a response that takes too long is logged as a warning with its operation", async () => {
  const { ask, lines } = await makeLogged(() => new Promise(() => {}));
  expect((await ask("/something/x?key=secret")).statusCode).toBe(503);
  expect(parsed(lines)).toMatchObject([
    { level: 40, requestId: "mine", operation: "getSomething", path: "/something/x" },
    { level: 30, requestId: "mine", operation: "getSomething", status: 503 },
  ]);
});

test("an error is logged with one request id under one name", async () => {
  const { ask, lines } = await makeLogged(() => Promise.reject(new Error("broken")));
  expect((await ask("/something/x")).statusCode).toBe(500);
  expect(parsed(lines)).toMatchObject([{ level: 50, requestId: "mine", operation: "getSomething" }, { level: 30 }]);
  expect(lines[0]?.match(/"mine"/g)).toHaveLength(1);
  expect(lines[0]).not.toContain("reqId");
});

test("at debug, the names of unknown parameters are logged, and no value is", async () => {
  for (const [level, expected] of [
    ["debug", ["answered", "ignored unknown query parameters"]],
    ["info", ["answered"]],
  ] as const) {
    const { ask, lines } = await makeLogged(async () => ({}), level);
    await ask("/something/x?slugs=secret&slug=known");
    expect(parsed(lines)).toMatchObject(expected.map((msg) => ({ msg, requestId: "mine" })));
    expect(lines.join("")).not.toMatch(/secret|known"/);
    expect(lines.join("").includes('"unknownParameters":["slugs"]')).toBe(level === "debug");
  }
});
