export const DAYS = ["1", "7", "30", "90"] as const;
export type Days = (typeof DAYS)[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** So that a chart has a few dozen to a few hundred buckets. */
const INTERVALS = { "1": "hour", "7": "hour", "30": "day", "90": "day" } as const;

/** What a period asks for: hours, or whole UTC days. Stable within an hour, so that a page asks once. */
export function periodOf(days: Days, now: number) {
  const interval = INTERVALS[days];
  const widthMs = interval === "hour" ? HOUR_MS : DAY_MS;
  const start = new Date(Math.floor(now / widthMs) * widthMs - Number(days) * DAY_MS).toISOString();
  return { interval, widthMs, start, end: Math.ceil(now / HOUR_MS) * HOUR_MS } as const;
}
