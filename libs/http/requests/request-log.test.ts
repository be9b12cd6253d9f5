import { Writable } from "node:stream";
import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createHttpApp, type HttpAppOptions } from "../app.ts";
import { defineOperation } from "../operations/operation.ts";
import { HttpError } from "../responses/errors.ts";
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

const lookup = defineOperation({ ...operation, id: "lookUp", path: "/addresses/{name}", isLookup: true });

/** An application with operations that run `handle`, and the lines that it logs. */
async function makeLogged(
  handle: () => Promise<Record<string, never>>,
  level = "info",
  options: Partial<HttpAppOptions> = {},
) {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const metrics = createMetrics();
  const app = await createHttpApp({ log: pino({ level }, sink), metrics, deadlineMs: 20, ...options });
  app.implement(operation, handle);
  app.implement(lookup, handle);
  onTestFinished(() => app.close());
  const headers = { "x-request-id": "mine" };
  return {
    ask: (url: string) => app.inject({ method: "GET", url, headers }),
    lines,
    metrics,
    close: () => app.close(),
  };
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

const SAMPLED = { accessLog: "sampled", deadlineMs: 10_000 } as const;
const NEVER_SLOW = { everyMs: 3_600_000, slowMs: 3_600_000 };

test("of lookups that are answered, also for an address that was never seen, one is logged and the others are counted, so that the log has every request", async () => {
  const answers = [200, 200, 404, 200, 500, 401];
  const { ask, lines, close } = await makeLogged(
    async () => {
      const status = answers.shift() ?? 200;
      if (status !== 200) throw new HttpError(status, "");
      return {};
    },
    "info",
    { ...SAMPLED, lookupSampling: NEVER_SLOW },
  );
  for (let asked = 0; asked < 6; asked++) await ask("/addresses/x");
  for (let asked = 0; asked < 2; asked++) await ask("/something/x");
  await close();
  const [lookUp, getSomething] = [{ operation: "lookUp" }, { operation: "getSomething", status: 200, msg: "answered" }];
  expect(parsed(lines)).toMatchObject([
    { ...lookUp, status: 200, path: "/addresses/x", msg: "answered" },
    { ...lookUp, status: 500, msg: "answered" },
    { ...lookUp, status: 401, msg: "answered" },
    getSomething,
    getSomething,
    { ...lookUp, lookups: 3, msg: "further lookups answered" },
  ]);
});

test("every slow lookup is logged, and with ACCESS_LOG=all every lookup", async () => {
  for (const options of [
    { ...SAMPLED, lookupSampling: { ...NEVER_SLOW, slowMs: 0 } },
    { accessLog: "all", lookupSampling: NEVER_SLOW },
  ] as const) {
    const { ask, lines, close } = await makeLogged(async () => ({}), "info", options);
    for (let asked = 0; asked < 3; asked++) await ask("/addresses/x");
    await close();
    expect(parsed(lines)).toMatchObject(Array(3).fill({ operation: "lookUp", msg: "answered" }));
  }
});

test("at intervals a line counts the lookups that are not logged, and the next lookup is logged again", async () => {
  const options = { ...SAMPLED, lookupSampling: { ...NEVER_SLOW, everyMs: 5 } };
  const { ask, lines, close } = await makeLogged(async () => ({}), "info", options);
  const counted = () => lines.filter((line) => line.includes("further lookups answered"));
  let asked = 0;
  for (; counted().length < 2; asked++) {
    await ask("/addresses/x");
    await yieldToEventLoop();
  }
  await close();
  const total = counted().reduce(
    (sum, line) => sum + z.object({ lookups: z.int() }).parse(JSON.parse(line)).lookups,
    0,
  );
  const logged = lines.length - counted().length;
  expect(logged).toBeGreaterThanOrEqual(2);
  expect(total + logged).toBe(asked);
});

test("a lookup that ends after the stop is logged", async () => {
  let answer = () => {};
  const answered = new Promise<void>((settle) => {
    answer = settle;
  });
  const { ask, lines, close } = await makeLogged(() => answered.then(() => ({})), "info", {
    ...SAMPLED,
    lookupSampling: NEVER_SLOW,
  });
  const responses = [ask("/addresses/x"), ask("/addresses/y")];
  await close();
  answer();
  await Promise.all(responses);
  expect(parsed(lines)).toMatchObject(["/addresses/x", "/addresses/y"].map((path) => ({ path, msg: "answered" })));
});
