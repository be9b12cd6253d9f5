import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { createHttpApp } from "./app.ts";

test("no request has a logger made for it", async () => {
  const app = await createHttpApp({ log: pino({ level: "silent" }), metrics: createMetrics(), deadlineMs: 1_000 });
  onTestFinished(() => app.close());
  const loggers = new Set<unknown>();
  app.get("/some", async (request, reply) => {
    loggers.add(request.log).add(reply.log);
    return {};
  });
  for (let asked = 0; asked < 3; asked++) expect((await app.inject("/some")).statusCode).toBe(200);
  expect(loggers).toEqual(new Set([app.log]));
});
