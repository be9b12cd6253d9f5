import { DAY_MS, HOUR_MS } from "../time/window.ts";

/** A text as time: the moments of a day or a second, or the moment that a length of time ago was. */
export type TimeSpan = { readonly first: number; readonly last: number; readonly isAgo: boolean };

/** Months and years as published queries of the hosted service have them. */
const UNITS: Readonly<Record<string, number>> = {
  min: 60_000,
  h: HOUR_MS,
  d: DAY_MS,
  w: 7 * DAY_MS,
  m: 30 * DAY_MS,
  y: 365 * DAY_MS,
};
/** More of them are meant as minutes, and would find what the query wants to leave out. */
const MAX_MONTHS = 12;

/** Whether a text is so many months that minutes are more likely. */
export const isLikelyMinutes = (text: string) => Number(/^(\d{1,6})m$/i.exec(text)?.[1]) > MAX_MONTHS;

/**
 * Reads a day, a time with a zone, `today`, `yesterday`, or how long ago: `30min`, `12h`, `7d`, `2w`, `3m`, `1y`.
 * @returns milliseconds since 1970 UTC, both ends included; undefined for any other text.
 */
export function readTimeSpan(text: string, now: number): TimeSpan | undefined {
  const [, count, unit = ""] = /^(\d{1,6})(min|[hdwmy])$/i.exec(text) ?? [];
  if (count !== undefined) {
    if (isLikelyMinutes(text)) return undefined;
    // No observation is older than 1970, which the store's times reach.
    const moment = Math.max(0, now - Number(count) * (UNITS[unit.toLowerCase()] ?? 0));
    return { first: moment, last: moment, isAgo: true };
  }
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  const named = { today, yesterday: today - DAY_MS }[text.toLowerCase()];
  if (named !== undefined) return { first: named, last: named + DAY_MS - 1, isAgo: false };
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text);
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/i.test(text);
  const time = isDay || isTime ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time) || (isDay && new Date(time).toISOString().slice(0, 10) !== text)) return undefined;
  if (isDay) return { first: time, last: time + DAY_MS - 1, isAgo: false };
  return { first: time, last: text.includes(".") ? time : time + 999, isAgo: false };
}
