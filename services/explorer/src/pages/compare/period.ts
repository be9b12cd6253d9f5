export const DAYS = ["1", "7", "30", "90"] as const;
export type Days = (typeof DAYS)[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** So that a chart has a few dozen to a few hundred buckets. */
const INTERVALS = { "1": "hour", "7": "hour", "30": "day", "90": "day" } as const;

/**
 * What a period asks for: hours, or whole UTC days, the one under way as the last. Stable within an hour, so that a
 * page asks once.
 * @param reachDays how many days back the caller's plan reaches: the service would cut the first day where it ends.
 */
export function periodOf(days: Days, reachDays: number, now: number) {
  const interval = INTERVALS[days];
  const widthMs = interval === "hour" ? HOUR_MS : DAY_MS;
  const reachedMs = Math.min(Number(days), reachDays) * DAY_MS;
  const start = new Date(Math.floor(now / widthMs) * widthMs - reachedMs + widthMs).toISOString();
  return { interval, widthMs, start, end: Math.ceil(now / HOUR_MS) * HOUR_MS } as const;
}
