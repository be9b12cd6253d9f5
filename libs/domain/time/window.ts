import * as z from "zod";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** SPEC, Limits: days of activity and bucket width. */
export const MAX_DAYS = 90;
export const MAX_WIDTH_HOURS = 168;

/** A span of time, start inclusive, end exclusive, both on the hour, in milliseconds since 1970 UTC. */
export type Window = { readonly start: number; readonly end: number };

/** The start of the hour that contains a time. */
export function floorToHour(time: number): number {
  return Math.floor(time / HOUR_MS) * HOUR_MS;
}

/** The start of the UTC month that is `later` months after the one that contains a time. */
export function monthAt(time: number, later = 0): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later);
}

/**
 * The last `days` days in whole hours. The exclusive end is `now` rounded up to the hour, so the current hour is
 * included. Source: API, tag activity.
 */
export function activityWindow(now: number, days: number): Window {
  const end = Math.ceil(now / HOUR_MS) * HOUR_MS;
  return { start: end - days * DAY_MS, end };
}

/** Contiguous buckets of `widthHours` from the window's start; the last one ends with the window. */
export function tile(window: Window, widthHours: number): Window[] {
  const buckets: Window[] = [];
  const width = widthHours * HOUR_MS;
  for (let start = window.start; start < window.end; start += width) {
    buckets.push({ start, end: Math.min(start + width, window.end) });
  }
  return buckets;
}

/** Parses a bucket width: `<n>h`, n from 1 to 168 without leading zeros, to hours. */
export const widthSchema = z
  .string()
  .regex(/^(?:[1-9]|[1-9]\d|1[0-5]\d|16[0-8])h$/)
  .transform((text) => Number(text.slice(0, -1)));

/** RFC 3339 in UTC with whole seconds: `2026-11-20T14:00:00Z`. */
export function formatTimestamp(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19)}Z`;
}

/** Formatted dates by the number of their day: every lookup needs one. */
const dates = new Map<number, string>();
const MAX_DATES = 1_000;

/** `2026-11-20`. @throws RangeError if the time is invalid. */
export function formatDate(time: number): string {
  const day = Math.floor(time / DAY_MS);
  const known = dates.get(day);
  if (known !== undefined) return known;
  const date = new Date(time).toISOString().slice(0, 10);
  if (dates.size >= MAX_DATES) dates.clear();
  dates.set(day, date);
  return date;
}

/** The time before which observations are expired. */
export function retentionStart(now: number, retentionDays: number): number {
  return now - retentionDays * DAY_MS;
}
