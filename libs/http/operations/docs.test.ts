import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { createHttpApp, finishHttpApp } from "../app.ts";

async function makeApp(register: (app: Awaited<ReturnType<typeof createHttpApp>>) => void, publicUrl?: string) {
  const options = { log: pino({ level: "silent" }), metrics: createMetrics() };
  const app = await createHttpApp({ ...options, deadlineMs: 1_000 });
  onTestFinished(() => app.close());
  register(app);
  await finishHttpApp(app, { ...options, operations: [], checks: {}, publicUrl });
  return app;
}

test("the address of a service without a start page leads to its documentation", async () => {
  const app = await makeApp(() => {});
  const { statusCode, headers } = await app.inject("/");
  expect([statusCode, headers.location]).toEqual([303, "./docs"]);
  const page = await app.inject("/docs");
  expect([page.statusCode, page.headers["content-type"]]).toEqual([200, expect.stringContaining("text/html")]);
});

test("behind a proxy that adds a path, the documentation loads its files and calls the interface below that path", async () => {
  const app = await makeApp(() => {}, "https://example.org/nf/");
  const { body } = await app.inject("/docs");
  const loaded = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url = ""]) => url);
  expect(loaded).not.toEqual([]);
  for (const url of loaded) {
    expect(url).toMatch(/^\/nf\/docs\/static\//);
    expect((await app.inject(url.slice("/nf".length))).statusCode).toBe(200);
  }
  expect((await app.inject("/docs/json")).json().servers).toEqual([{ url: "/nf" }]);
  expect((await app.inject("/openapi.json")).json().servers).toEqual([{ url: "/nf" }]);
});

test("a service with a start page shows that", async () => {
  const app = await makeApp((service) => service.get("/", async () => ({ start: "page" })));
  expect((await app.inject("/")).json()).toEqual({ start: "page" });
});
