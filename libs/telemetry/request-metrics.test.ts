import fc from "fast-check";
import { Counter, Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { requestMetrics } from "./request-metrics.ts";

const BOUNDS = [0.001, 0.01, 0.5, 2];
const DURATION = fc.oneof(fc.constantFrom(0, ...BOUNDS), fc.double({ min: 0, max: 5, noNaN: true }));
const REQUEST = fc.tuple(fc.constantFrom("a", "b", "none"), fc.constantFrom(200, 404, 499), DURATION);

/** What prom-client itself makes of the same requests. */
function referenceOf(requests: readonly [operation: string, status: number, seconds: number][]): Promise<string> {
  const registers = [new Registry()];
  const counter = new Counter({
    name: "noisefloor_http_requests_total",
    help: "Requests answered, by operation and status; 499 means that the client disconnected first",
    labelNames: ["operation", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "noisefloor_http_request_duration_seconds",
    help: "From a request's header to the end of its response",
    labelNames: ["operation"],
    buckets: BOUNDS,
    registers,
  });
  for (const [operation, status, seconds] of requests) {
    counter.inc({ operation, status });
    durations.observe({ operation }, seconds);
  }
  return Registry.merge(registers).metrics();
}

const linesOf = (text: string) => text.split("\n").sort();

test("a scrape is the one of prom-client's own counter and histogram", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(REQUEST), async (requests) => {
      const registry = new Registry();
      const metrics = requestMetrics([registry], BOUNDS);
      for (const [operation, status, seconds] of requests) metrics.record(operation, status, seconds);
      const first = await Registry.merge([registry]).metrics();
      expect(linesOf(first)).toEqual(linesOf(await referenceOf(requests)));
      expect(await Registry.merge([registry]).metrics()).toBe(first);
    }),
  );
});
