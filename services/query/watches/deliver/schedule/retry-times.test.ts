import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { expect, test } from "vitest";
import { nextAttemptAt } from "./retry-times.ts";

test("what fails is tried again after 5 s, 30 s, 2 min, 10 min, 30 min, then every 2 hours, for 3 days", () => {
  const detectedAt = Date.UTC(2026, 10, 20);
  const pauses: number[] = [];
  let now = detectedAt;
  for (let next = nextAttemptAt(1, detectedAt, now); next !== undefined; ) {
    pauses.push((next - now) / 1_000);
    now = next;
    next = nextAttemptAt(pauses.length + 1, detectedAt, now);
  }
  expect(pauses.slice(0, 7)).toEqual([5, 30, 120, 600, 1_800, 7_200, 7_200]);
  expect(new Set(pauses.slice(5))).toEqual(new Set([7_200]));
  expect(now).toBeLessThanOrEqual(detectedAt + 3 * DAY_MS);
  expect(now).toBeGreaterThan(detectedAt + 3 * DAY_MS - 7_200_000);
});
