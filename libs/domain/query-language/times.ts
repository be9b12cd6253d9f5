import { DAY_MS, HOUR_MS } from "../time/window.ts";

/** A text as time: the moments of a day or a second, or the moment that a length of time ago was. */
export type TimeSpan = { readonly first: number; readonly last: number; readonly isAgo: boolean };

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS };

/**
 * Reads a day, a time with a zone, `today`, `yesterday`, or how long ago: `30m`, `12h`, `7d`, `2w`.
 * @returns milliseconds since 1970 UTC, both ends included; undefined for any other text.
 */
export function readTimeSpan(text: string, now: number): TimeSpan | undefined {
  const [, count, unit = ""] = /^(\d{1,6})([mhdw])$/i.exec(text) ?? [];
  if (count !== undefined) {
    const moment = now - Number(count) * (UNITS[unit.toLowerCase()] ?? 0);
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
