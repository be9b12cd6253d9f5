import fc from "fast-check";
import { expect, test } from "vitest";
import { isTimeZone, timeZone } from "./zone.ts";

const utcOf = (zone: string, wall: string) => new Date(timeZone(zone)(Date.parse(`${wall}Z`))).toISOString();

test.each([
  ["Europe/Berlin", "2026-11-27T13:00:00", "2026-11-27T12:00:00.000Z"],
  ["Europe/Berlin", "2026-07-01T13:00:00", "2026-07-01T11:00:00.000Z"],
  ["Asia/Kathmandu", "2026-11-27T13:00:00", "2026-11-27T07:15:00.000Z"],
  ["America/New_York", "2026-11-01T00:59:59", "2026-11-01T04:59:59.000Z"],
  ["Pacific/Kiritimati", "2027-01-01T00:00:00", "2026-12-31T10:00:00.000Z"],
])("in %s, %s is %s", (zone, wall, utc) => {
  expect(utcOf(zone, wall)).toBe(utc);
});

test.each([
  ["Europe/Berlin", "2026-10-25T02:30:00", "2026-10-25T00:30:00.000Z"],
  ["America/New_York", "2026-11-01T01:30:00", "2026-11-01T05:30:00.000Z"],
  ["Australia/Lord_Howe", "2026-04-05T01:45:00", "2026-04-04T14:45:00.000Z"],
])("in %s, %s comes twice, and the earlier time counts: %s", (zone, wall, utc) => {
  expect(utcOf(zone, wall)).toBe(utc);
});

test.each([
  ["Europe/Berlin", "2026-03-29T02:30:00", "2026-03-29T01:30:00.000Z"],
  ["America/New_York", "2026-03-08T02:30:00", "2026-03-08T07:30:00.000Z"],
])("in %s, %s is skipped, and counts as if the clocks had not been set: %s", (zone, wall, utc) => {
  expect(utcOf(zone, wall)).toBe(utc);
});

test("every moment is found by the wall clock of its zone, or an hour earlier where that comes twice", () => {
  const wallOf = (zone: string, utcMs: number) =>
    Date.parse(`${new Date(utcMs).toLocaleString("sv-SE", { timeZone: zone }).replace(" ", "T")}Z`);
  const zones = fc.constantFrom("Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Tokyo", "UTC");
  const seconds = fc.integer({ min: Date.UTC(2000) / 1_000, max: Date.UTC(2037) / 1_000 });
  fc.assert(
    fc.property(zones, seconds, (zone, second) => {
      const found = timeZone(zone)(wallOf(zone, second * 1_000));
      expect(wallOf(zone, found)).toBe(wallOf(zone, second * 1_000));
      expect([0, 1_800_000, 3_600_000]).toContain(second * 1_000 - found);
    }),
    { numRuns: 200 },
  );
});

test("names of zones are told from others", () => {
  expect(["Europe/Berlin", "UTC", "Etc/GMT+5"].map(isTimeZone)).toEqual([true, true, true]);
  expect(["Nowhere/City", "", "cellar"].map(isTimeZone)).toEqual([false, false, false]);
});
