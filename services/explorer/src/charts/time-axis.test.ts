import { expect, test } from "vitest";
import { formatTimes, TIME_STEPS } from "./time-axis.ts";

const HOUR = 3_600;
const at = (text: string) => Date.parse(text) / 1_000;

test("labels are UTC, whatever the time zone and its change of clocks, and name a day and a year once", () => {
  const zone = process.env.TZ;
  try {
    for (const name of ["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati"]) {
      process.env.TZ = name;
      // In New York the clock goes from 02:00 to 03:00 on this day.
      expect(formatTimes([at("2026-03-08T00:00:00Z"), at("2026-03-08T06:00:00Z")], 6 * HOUR)).toEqual([
        "00:00\n2026-03-08 UTC",
        "06:00",
      ]);
      const night = ["2026-11-20T18:00:00Z", "2026-11-21T00:00:00Z", "2026-11-21T06:00:00Z"].map(at);
      expect(formatTimes(night, 6 * HOUR)).toEqual(["18:00\n2026-11-20 UTC", "00:00\n11-21", "06:00"]);
      const days = ["2026-12-30T00:00:00Z", "2026-12-31T00:00:00Z", "2027-01-01T00:00:00Z"].map(at);
      expect(formatTimes(days, 24 * HOUR)).toEqual(["12-30\n2026 UTC", "12-31", "01-01\n2027"]);
    }
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

test("steps below a day divide it, so that labels stand at the same times every day", () => {
  for (const step of TIME_STEPS)
    expect([step, (step > 24 * HOUR ? step : 24 * HOUR) % Math.min(step, 24 * HOUR)]).toEqual([step, 0]);
});
