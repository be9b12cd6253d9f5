import { createHttpApp } from "@noisefloor/http/app.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { QUERY_OPERATIONS } from "./app.ts";

test("a page of a configured origin may read every header field of every operation, and use every method", async () => {
  const origin = "https://a.example";
  const log = pino({ level: "silent" });
  const app = await createHttpApp({ log, metrics: createMetrics(), deadlineMs: 1_000, corsOrigins: [origin] });
  onTestFinished(() => app.close());
  const { headers } = await app.inject({ url: "/", headers: { origin } });
  const exposed = String(headers["access-control-expose-headers"]).split(", ");
  const answers = QUERY_OPERATIONS.map(({ success }) => success);
  const named = answers.flatMap((answer) => Object.keys({ ...answer.headers, ...answer.textHeaders }));
  expect(named.length).toBeGreaterThan(0);
  expect(exposed).toEqual(expect.arrayContaining(named.map((name) => name.toLowerCase())));
  const preflight = await app.inject({
    method: "OPTIONS",
    url: "/",
    headers: { origin, "access-control-request-method": "PUT", "access-control-request-headers": "if-none-match" },
  });
  const methods = String(preflight.headers["access-control-allow-methods"]).split(", ");
  expect(methods).toEqual(expect.arrayContaining(QUERY_OPERATIONS.map(({ method }) => method)));
  expect(preflight.headers["access-control-allow-headers"]).toContain("if-none-match");
});
