import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { createHttpApp, finishHttpApp } from "../app.ts";

async function makeApp(register: (app: Awaited<ReturnType<typeof createHttpApp>>) => void) {
  const options = { log: pino({ level: "silent" }), metrics: createMetrics() };
  const app = await createHttpApp({ ...options, deadlineMs: 1_000 });
  onTestFinished(() => app.close());
  register(app);
  await finishHttpApp(app, { ...options, operations: [], checks: {} });
  return app;
}

test("the address of a service without a start page leads to its documentation", async () => {
  const app = await makeApp(() => {});
  const { statusCode, headers } = await app.inject("/");
  expect([statusCode, headers.location]).toEqual([303, "./docs"]);
  const page = await app.inject("/docs");
  expect([page.statusCode, page.headers["content-type"]]).toEqual([200, expect.stringContaining("text/html")]);
});

test("a service with a start page shows that", async () => {
  const app = await makeApp((service) => service.get("/", async () => ({ start: "page" })));
  expect((await app.inject("/")).json()).toEqual({ start: "page" });
});
