import { expect, test } from "vitest";
import { formatAgo, formatChange, formatMinute, formatShare, plural } from "./format.ts";

test("numbers are grouped, and a change says its direction", () => {
  expect([plural(1, "address", "addresses"), plural(12_345, "hour")]).toEqual(["1 address", "12,345 hours"]);
  expect([formatChange(12, 10), formatChange(5, 10), formatChange(3, 0), formatChange(0, 0)]).toEqual([
    "+20%",
    "-50%",
    "new",
    "0%",
  ]);
  expect(formatChange(42_786, undefined)).toBe("no data before");
  expect([formatShare(1, 3), formatShare(0, 0)]).toEqual(["33.3%", "0%"]);
});

test("times are UTC to the minute, and how long ago they were", () => {
  const now = Date.parse("2026-11-20T14:30:00Z");
  expect(formatMinute("2026-11-20T14:00:00Z")).toBe("2026-11-20 14:00");
  expect(formatAgo("2026-11-20 12:29:00", now)).toBe("2 hours ago");
  expect(formatAgo("2026-11-19T14:30:00Z", now)).toBe("1 day ago");
  expect(formatAgo("2026-11-20T14:29:30Z", now)).toBe("less than a minute ago");
});
