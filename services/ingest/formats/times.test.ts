import { timeZone } from "@noisefloor/domain/time/zone.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { explainTime, readTime } from "./times.ts";

const NOW = Date.parse("2026-11-28T09:00:00Z");
const OPTIONS = { now: () => NOW };
const timeOf = (value: unknown, zone?: string) =>
  readTime(value, OPTIONS, zone === undefined ? undefined : timeZone(zone)).time;
const momentOf = (value: unknown, zone?: string) => Date.parse(String(timeOf(value, zone)));

test.each([
  "2026-11-27T13:00:00Z",
  "2026-11-27t14:00:00+01:00",
  "2026-11-27T13:00:00.000000+00:00Z",
  "2026-11-27 14:00:00 +0100",
  "2026-11-27 14:00:00+01",
  "2026/11/27 13:00:00",
  "2026-11-27 13:00:00,000",
  "2026-11-27 13:00:00.000000 GMT",
  "Fri 2026-11-27 13:00:00 UTC",
  "Fri 2026-11-27 14:00:00 CET",
  "Fri Nov 27 13:00:00 2026",
  "Fri Nov 27 08:00:00 EST 2026",
  "Nov 27 13:00:00",
  "Nov 27 13:00:00.000",
  "Nov 27 13:00:00 2026",
  "Nov 27 2026 13:00:00",
  "Nov 27, 2026 14:00:00.000000000 CET",
  "2026 Nov 27 13:00:00",
  "27/Nov/2026:14:00:00 +0100",
  "27-Nov-2026 13:00:00.000",
  "Fri, 27 Nov 2026 13:00:00 GMT",
  "nov/27/2026 13:00:00",
  "nov/27 13:00:00",
  1_795_784_400,
  "1795784400",
  "1795784400.000",
  1_795_784_400_000,
  "1795784400000",
  1_795_784_400_000_000,
  "1795784400000000",
  1_795_784_400_000_000_000,
  "1795784400000000000",
  { $date: "2026-11-27T13:00:00.000+0000" },
  { $date: { $numberLong: "1795784400000" } },
])("%j is one in the afternoon of 27 November in Greenwich", (value) => {
  expect(new Date(momentOf(value)).toISOString()).toBe("2026-11-27T13:00:00.000Z");
});

test("fractions of a second stay as they are written", () => {
  expect(timeOf("2026-11-27 13:00:00.123456789")).toBe("2026-11-27T13:00:00.123456789Z");
  expect(timeOf("Nov 27 13:00:00.5", "Europe/Berlin")).toBe("2026-11-27T12:00:00.5Z");
  expect(timeOf(1_795_784_400_250_999)).toBe("2026-11-27T13:00:00.250Z");
});

test("only what names no zone is read in the sensor's zone, with its summer time", () => {
  const berlin = (value: unknown) => timeOf(value, "Europe/Berlin");
  expect(["2026-11-27 14:00:00", "Nov 27 14:00:00", "27/Nov/2026:14:00:00"].map(berlin)).toEqual(
    Array(3).fill("2026-11-27T13:00:00Z"),
  );
  expect(berlin("2026-07-01 14:00:00")).toBe("2026-07-01T12:00:00Z");
  expect(["2026-11-27T13:00:00Z", "2026-11-27 14:00:00 CET"].map(berlin)).toEqual([
    "2026-11-27T13:00:00Z",
    "2026-11-27T14:00:00+01:00",
  ]);
  expect(berlin(1_795_784_400)).toBe("2026-11-27T13:00:00.000Z");
  // An abbreviation with several meanings says that it is no UTC, and not which zone.
  expect(timeOf("2026-11-27 14:00:00 CST")).toBe("2026-11-27 14:00:00 CST");
  expect(timeOf("2026-11-27 14:00:00 CST", "America/Chicago")).toBe("2026-11-27T20:00:00Z");
});

test("a time read as UTC for want of a zone is marked", () => {
  expect(readTime("Nov 27 13:00:00", OPTIONS)).toHaveProperty("isZoneless", true);
  for (const value of ["2026-11-27 13:00:00 +0100", "2026-11-27T13:00:00Z", 1_795_784_400]) {
    expect(readTime(value, OPTIONS)).not.toHaveProperty("isZoneless");
  }
  expect(readTime("Nov 27 13:00:00", OPTIONS, timeZone("Asia/Tokyo"))).not.toHaveProperty("isZoneless");
});

test("a time without a year is of the last year in which it is past, or was before the latest time", () => {
  const yearOf = (value: string, latest: string) =>
    String(readTime(value, { ...OPTIONS, latestTime: Date.parse(latest) }).time).slice(0, 4);
  expect(String(timeOf("Nov 29 08:00:00"))).toMatch(/^2026/);
  expect(String(timeOf("Nov 30 08:00:00"))).toMatch(/^2025/);
  expect(yearOf("Dec 31 23:59:59", "2023-01-02T00:00:00Z")).toBe("2022");
  expect(yearOf("Jan  1 00:00:00", "2023-01-02T00:00:00Z")).toBe("2023");
  expect(yearOf("Feb 29 12:00:00", "2026-11-28T00:00:00Z")).toBe("2024");
  // It is the next year already, where the sensor is.
  const tokyo = { ...OPTIONS, latestTime: Date.parse("2026-12-31T20:00:00Z") };
  expect(readTime("Jan  1 04:00:00", tokyo, timeZone("Asia/Tokyo")).time).toBe("2026-12-31T19:00:00Z");
});

test.each([
  ["a word", "yesterday"],
  ["a day that no month has, in a zone", "2026-02-30 13:00:00"],
  ["a zone and another", "2026-11-27T14:00:00+01:00Z"],
  ["an unknown month", "Foo 27 2026 13:00:00"],
  ["digits of no unit", "20261127130000"],
  ["day and month in either order", "11/12/2026 13:00:00"],
])("%s is left as it is, for the rejection to show", (_what, value) => {
  expect(timeOf(value, "Europe/Berlin")).toBe(value);
});

test("the operator reads the value that could not be read, and what can", () => {
  expect(explainTime("11/12/2026 13:00:00")).toMatch(
    /^cannot read the time "11\/12\/2026 13:00:00": expected RFC 3339/,
  );
  expect(explainTime("[12345.678901] DROP IN=eth0")).toMatch(/name no date.*dmesg -T/);
  expect(explainTime("2026-11-27 14:00:00 CST")).toMatch(/SENSOR_TIME_ZONES/);
  expect(explainTime("x".repeat(500)).length).toBeLessThan(300);
  expect(explainTime(undefined)).toBe("the record has no time");
});

test("any text gives a time or itself", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.jsonValue()), (value) => {
      const { time } = readTime(value, OPTIONS, timeZone("America/New_York"));
      expect(["string", "boolean", "undefined"]).toContain(typeof time);
    }),
  );
});
