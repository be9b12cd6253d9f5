import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  activityWindow,
  DAY_MS,
  floorToHour,
  formatDate,
  formatTimestamp,
  HOUR_MS,
  MAX_DAYS,
  MAX_WIDTH_HOURS,
  monthAt,
  retentionStart,
  tile,
  widthSchema,
} from "./window.ts";

const NOON = Date.parse("2026-11-20T12:00:00Z");
const moment = fc.integer({ min: Date.parse("2000-01-01T00:00:00Z"), max: Date.parse("2100-01-01T00:00:00Z") });
const upTo = (max: number) => Array.from({ length: max }, (_, index) => index + 1);

describe("the window of a query", () => {
  test.each([
    ["2026-11-20T11:00:00.001Z", "2026-11-20T12:00:00Z"],
    ["2026-11-20T11:59:59.999Z", "2026-11-20T12:00:00Z"],
    ["2026-11-20T12:00:00.000Z", "2026-11-20T12:00:00Z"],
    ["2026-11-20T12:00:00.001Z", "2026-11-20T13:00:00Z"],
    ["2026-12-31T23:30:00.000Z", "2027-01-01T00:00:00Z"],
  ])("at %s ends at %s", (now, end) => {
    expect(formatTimestamp(activityWindow(Date.parse(now), 1).end)).toBe(end);
  });

  test("is whole hours, as many days as requested, and includes the current hour", () => {
    fc.assert(
      fc.property(moment, fc.integer({ min: 1, max: MAX_DAYS }), (now, days) => {
        const { start, end } = activityWindow(now, days);
        expect(end % HOUR_MS).toBe(0);
        expect(end - start).toBe(days * 24 * HOUR_MS);
        expect(end).toBeGreaterThanOrEqual(now);
        expect(end - now).toBeLessThan(HOUR_MS);
      }),
    );
  });
});

test.each([
  ["2026-11-20T14:00:00Z", 0, "2026-11-01T00:00:00Z"],
  ["2026-12-31T23:59:59Z", 1, "2027-01-01T00:00:00Z"],
  ["2026-03-01T00:00:00Z", 0, "2026-03-01T00:00:00Z"],
])("the month of %s and %i later begins at %s", (time, later, expected) => {
  expect(formatTimestamp(monthAt(Date.parse(time), later))).toBe(expected);
});

describe("buckets", () => {
  test("30 days at 24h are 30 buckets of 24 hours", () => {
    const buckets = tile(activityWindow(NOON, 30), 24);
    expect(buckets.map(({ start, end }) => end - start)).toEqual(Array.from({ length: 30 }, () => DAY_MS));
  });

  test("where the width does not divide the window, the last bucket ends at the window's end", () => {
    const buckets = tile(activityWindow(NOON, 1), 7);
    expect(buckets.map(({ start, end }) => [formatTimestamp(start), formatTimestamp(end)])).toEqual([
      ["2026-11-19T12:00:00Z", "2026-11-19T19:00:00Z"],
      ["2026-11-19T19:00:00Z", "2026-11-20T02:00:00Z"],
      ["2026-11-20T02:00:00Z", "2026-11-20T09:00:00Z"],
      ["2026-11-20T09:00:00Z", "2026-11-20T12:00:00Z"],
    ]);
  });

  test("a width beyond the window gives one bucket, the window itself", () => {
    const window = activityWindow(NOON, 1);
    expect(tile(window, 168)).toEqual([window]);
  });

  test.each([1, 2, 7, 10, 30, 89, 90])("tile a window of %i days without gap or overlap at every width", (days) => {
    const window = activityWindow(NOON + 1, days);
    for (const width of upTo(MAX_WIDTH_HOURS)) {
      const buckets = tile(window, width);
      expect(buckets).toHaveLength(Math.ceil((days * 24) / width));
      expect(buckets.slice(1).map(({ start }) => start)).toEqual(buckets.slice(0, -1).map(({ end }) => end));
      expect([buckets.at(0)?.start, buckets.at(-1)?.end]).toEqual([window.start, window.end]);
      const lengths = new Set(buckets.slice(0, -1).map(({ start, end }) => end - start));
      expect([...lengths]).toEqual(buckets.length > 1 ? [width * HOUR_MS] : []);
    }
  });

  test("every time in a window is in exactly one bucket, which is no wider than requested", () => {
    const query = fc.record({
      now: moment,
      days: fc.integer({ min: 1, max: MAX_DAYS }),
      width: fc.integer({ min: 1, max: MAX_WIDTH_HOURS }),
      share: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    });
    fc.assert(
      fc.property(query, ({ now, days, width, share }) => {
        const window = activityWindow(now, days);
        const at = window.start + Math.floor(share * (window.end - window.start));
        const holders = tile(window, width).filter(({ start, end }) => start <= at && at < end);
        expect(holders).toHaveLength(1);
        for (const { start, end } of holders) expect(end - start).toBeLessThanOrEqual(width * HOUR_MS);
      }),
      { numRuns: 300 },
    );
  });
});

describe("a bucket width", () => {
  test("is any whole hour from 1h to 168h", () => {
    const hours = upTo(168);
    expect(hours.map((hour) => widthSchema.parse(`${hour}h`))).toEqual(hours);
  });

  test.each([
    ...["", "h", "0h", "00h", "169h", "999h", "1000h", "01h", "024h", "-1h", "+1h", "1.5h", "1e1h", "24", "1d", "7d"],
    ...["60m", "1w", "24H", " 24h", "24h ", "24 h", "24h\n", "24hh", "24h24h", "0x18h", "\uff12\uff14h"],
  ])("is not %j", (text) => {
    expect(widthSchema.safeParse(text).success).toBe(false);
  });
});

test("timestamps are RFC 3339 in UTC with whole seconds, dates are their first ten characters", () => {
  const time = Date.parse("2026-03-01T02:03:04.999+02:00");
  expect(formatTimestamp(time)).toBe("2026-03-01T00:03:04Z");
  expect(formatDate(time)).toBe("2026-03-01");
  expect(formatTimestamp(0)).toBe("1970-01-01T00:00:00Z");
});

test("dates are those of the ISO format, on whichever of many days, asked for once or again", () => {
  const time = fc.integer({ min: -(4_000 * DAY_MS), max: 40_000 * DAY_MS });
  fc.assert(
    fc.property(fc.array(time, { minLength: 30, maxLength: 60 }), (times) => {
      for (const one of [...times, ...times]) expect(formatDate(one)).toBe(new Date(one).toISOString().slice(0, 10));
    }),
  );
  expect(() => formatDate(Number.NaN)).toThrow(RangeError);
});

test("a time belongs to the hour that began last", () => {
  expect(floorToHour(NOON)).toBe(NOON);
  expect(floorToHour(NOON + HOUR_MS - 1)).toBe(NOON);
  expect(floorToHour(NOON - 1)).toBe(NOON - HOUR_MS);
});

test("with a retention of 100 days, observations expire after 100 times 24 hours", () => {
  expect(formatTimestamp(retentionStart(NOON, 100))).toBe("2026-08-12T12:00:00Z");
});
