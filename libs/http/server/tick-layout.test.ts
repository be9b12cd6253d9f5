import { setImmediate as nextTurn } from "node:timers/promises";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createHttpApp } from "../app.ts";
import { keepTickLayout, keptTick } from "./tick-layout.ts";

test("an HTTP application keeps an object as process.nextTick makes it, and no other takes its place", async () => {
  await createHttpApp({ log: pino({ level: "silent" }), metrics: createMetrics(), deadlineMs: 10_000 });
  await nextTurn();
  const kept = keptTick();
  expect(kept).toHaveProperty("callback", expect.any(Function));
  keepTickLayout();
  await nextTurn();
  expect(keptTick()).toBe(kept);
});
