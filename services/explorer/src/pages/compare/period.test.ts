import { expect, test } from "vitest";
import { DAYS, periodOf } from "./period.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const now = Date.parse("2026-11-20T14:20:00Z");

test("a period is of hours, or of whole UTC days, the one under way as the last", () => {
  expect(periodOf("1", 90, now)).toMatchObject({ interval: "hour", start: "2026-11-19T15:00:00.000Z" });
  expect(periodOf("7", 90, now)).toMatchObject({ interval: "hour", start: "2026-11-13T15:00:00.000Z" });
  expect(periodOf("30", 90, now)).toMatchObject({ interval: "day", start: "2026-10-22T00:00:00.000Z" });
  expect(periodOf("90", 90, now)).toMatchObject({ interval: "day", start: "2026-08-23T00:00:00.000Z" });
});

test("no period begins before the caller's plan reaches, at any hour, and those of days begin at midnight", () => {
  for (let time = now; time < now + DAY; time += HOUR / 2) {
    for (const reach of [1, 7, 45, 90]) {
      for (const days of DAYS) {
        const { start, end, widthMs } = periodOf(days, reach, time);
        expect(Date.parse(start)).toBeGreaterThanOrEqual(end - reach * DAY);
        expect(Date.parse(start) % widthMs).toBe(0);
        expect(Date.parse(start)).toBeLessThan(end);
      }
    }
  }
});
