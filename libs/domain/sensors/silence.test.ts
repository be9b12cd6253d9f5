import { expect, test } from "vitest";
import { isSilent, silenceLimit } from "./silence.ts";

const HOUR = 3_600_000;
const NOW = Date.parse("2026-11-20T14:30:00Z");
const seen = (hoursAgo: number, activeHours: number, longestPause: number) => ({
  lastSeen: NOW - hoursAgo * HOUR,
  activeHours,
  longestPause,
});

test.each([
  ["a sensor that came every hour, after 59 minutes", seen(59 / 60, 168, 1), false],
  ["a sensor that came every hour, after more than two", seen(2.1, 168, 1), true],
  ["a sensor that came every six hours, after eleven", seen(11, 28, 6), false],
  ["a sensor that came every six hours, after thirteen", seen(13, 28, 6), true],
])("%s", (_name, presence, silent) => {
  expect(isSilent(presence, false, NOW)).toBe(silent);
});

test("a name that hardly ever came is expected again only when a key was made for it", () => {
  const once = seen(25, 1, 0);
  expect(silenceLimit(once, false)).toBeUndefined();
  expect(isSilent(once, false, NOW)).toBe(false);
  expect(isSilent(once, true, NOW)).toBe(true);
  expect(isSilent(seen(23, 1, 0), true, NOW)).toBe(false);
});
