import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import type { TimeZone } from "@noisefloor/domain/time/zone.ts";
import { isFields } from "./fields.ts";

/** What is known of a sensor's times besides what they say. */
export type TimeOptions = {
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /**
   * Milliseconds since 1970 UTC: a time without a year is of the last year in which it is no later. Left out, a day
   * from now, for clocks and zones that differ.
   */
  readonly latestTime?: number | undefined;
};

const CLOCK = String.raw`(?<clock>\d\d:\d\d:\d\d)(?:[.,](?<fraction>\d{1,9}))?`;
const ZONE = String.raw`(?<zone>Z|[+-]\d\d(?::?\d\d)?|[A-Z]{2,5})`;
const YEAR = String.raw`(?<year>\d{4})`;
const MONTH = "(?<month>[A-Z][a-z]{2})";
const DAY = String.raw`(?<day>[ \d]?\d)`;
const WEEKDAY = "(?:[A-Z][a-z]{2},? )?";

/** Date, time, fraction and zone, as most sensors write them; ElasticPot and IPPHoney end with `+00:00Z`. */
const TIME =
  /^(?:[A-Z][a-z]{2} )?(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s*(?:[+-]00:?00(?=Z))?(Z|[+-]\d\d(?::?\d\d)?|[A-Z]{2,5})?$/i;
/** Spellings with the month's name. */
const NAMED_MONTH: readonly RegExp[] = [
  // Nov 27 13:00:00, the same with the zone UTC or the year 2026 after it, and Fri Nov 27 13:00:00 UTC 2026
  `${MONTH} ${DAY} ${CLOCK}(?: ${ZONE})?(?: ${YEAR})?`,
  // Nov 27 2026 13:00:00, Nov 27, 2026 13:00:00 CET
  `${MONTH} ${DAY},? ${YEAR} ${CLOCK}(?: ?${ZONE})?`,
  // 27/Nov/2026:13:00:00 +0100, Fri, 27 Nov 2026 13:00:00 GMT, 27-Nov-2026 13:00:00.123
  `${DAY}[ /-]${MONTH}[ /-]${YEAR}[: ]${CLOCK}(?: ?${ZONE})?`,
  // 2026 Nov 27 13:00:00
  `${YEAR} ${MONTH} ${DAY} ${CLOCK}(?: ?${ZONE})?`,
  // nov/27/2026 13:00:00, nov/27 13:00:00
  `${MONTH}/${DAY}(?:/${YEAR})? ${CLOCK}`,
].map((pattern) => new RegExp(`^${WEEKDAY}${pattern}$`, "i"));
/** 1127 13:00:00.123456, as Go's glog and klog write it. */
const GLOG = new RegExp(String.raw`^(?<month>\d\d)(?<day>\d\d) ${CLOCK}$`);
const MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec";

/** Zones' abbreviations that mean the same everywhere; CST, IST and others do not. */
const OFFSETS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    Z: ["Z", "UTC", "GMT", "UT"],
    "+00:00": ["WET"],
    "+01:00": ["CET", "WEST"],
    "+02:00": ["CEST", "EET", "SAST"],
    "+03:00": ["EEST", "MSK"],
    "+09:00": ["JST", "KST"],
    "+10:00": ["AEST"],
    "+11:00": ["AEDT"],
    "+12:00": ["NZST"],
    "+13:00": ["NZDT"],
    "-04:00": ["EDT"],
    "-05:00": ["EST", "CDT"],
    "-06:00": ["MDT"],
    "-07:00": ["MST", "PDT"],
  }).flatMap(([offset, names]) => names.map((name): [string, string] => [name, offset])),
);

/** The longest spelling, with room for a zone's name. */
const MAX_TEXT = 64;

/** Seconds, milliseconds, microseconds or nanoseconds since 1970; other numbers of digits are dates like 20261127130000. */
const EPOCH = /^(?:\d{9,10}|\d{13}|\d{16}|\d{19})(?:\.\d+)?$/;
/** Seconds since 1970 stay below this until the year 5138; larger units are above it since 1973. */
const MAX_SECONDS = 1e11;

/** A sensor's time: RFC 3339, or what it was when it cannot be read, so that the rejection shows it. */
export type ReadTime = {
  readonly time: unknown;
  /** Read as UTC, though it names no zone. */
  readonly isZoneless?: true;
};

/**
 * Reads a sensor's time. A number counts seconds, milliseconds, microseconds or nanoseconds since 1970; a MongoDB
 * export wraps its times.
 * @param zone the zone of a time that names none; left out, it is UTC.
 */
export function readTime(value: unknown, options: TimeOptions, zone?: TimeZone | undefined): ReadTime {
  if (isFields(value)) return readTime(value.$date ?? value.$numberLong ?? null, options, zone);
  if (typeof value === "number") return { time: fromEpoch(value) ?? String(value) };
  // A list would take many times the memory of its bytes.
  if (typeof value !== "string") return { time: typeof value === "object" ? undefined : value };
  const text = value.trim();
  const parts = TIME.exec(text);
  if (parts !== null) {
    const [, year = "", month = "", day = "", clock = "", fraction, named] = parts;
    return finish(value, { date: `${year}-${month}-${day}`, clock, fraction, zone: named }, zone);
  }
  if (EPOCH.test(text)) return { time: fromEpoch(Number(text)) ?? value };
  return readNamedMonth(value, text, options, zone);
}

function fromEpoch(count: number): string | undefined {
  let milliseconds = count * 1_000;
  for (let limit = MAX_SECONDS; count >= limit && limit < 1e20; limit *= 1_000) milliseconds /= 1_000;
  const time = new Date(milliseconds);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

function readNamedMonth(value: string, text: string, options: TimeOptions, zone: TimeZone | undefined): ReadTime {
  if (text.length > MAX_TEXT) return { time: value };
  const glog = GLOG.exec(text)?.groups;
  if (glog !== undefined) {
    const { month, day, clock = "", fraction } = glog;
    const monthAndDay = `${month}-${day}`;
    const date = `${lastYear(monthAndDay, clock, options, zone)}-${monthAndDay}`;
    return finish(value, { date, clock, fraction }, zone);
  }
  for (const pattern of NAMED_MONTH) {
    const groups = pattern.exec(text)?.groups;
    if (groups === undefined) continue;
    const { year, month = "", day = "", clock = "", fraction, zone: named } = groups;
    const number = MONTHS.indexOf(month.toLowerCase()) / 3 + 1;
    if (number < 1 || !Number.isInteger(number)) break;
    const monthAndDay = `${twoDigits(number)}-${twoDigits(Number(day))}`;
    const date = `${year ?? lastYear(monthAndDay, clock, options, zone)}-${monthAndDay}`;
    return finish(value, { date, clock, fraction, zone: named }, zone);
  }
  return { time: value };
}

const twoDigits = (number: number) => String(number).padStart(2, "0");

/** The last year in which a month and day exist and are not after the latest time. */
function lastYear(
  monthAndDay: string,
  clock: string,
  { now, latestTime }: TimeOptions,
  zone: TimeZone | undefined,
): number {
  const latest = latestTime ?? now() + DAY_MS;
  // East of Greenwich the next year may have begun.
  const newest = new Date(zone === undefined ? latest : latest + DAY_MS).getUTCFullYear();
  // 29 February is every four years, but in 2100.
  for (let year = newest; year > newest - 9; year--) {
    const wall = wallClock(`${year}-${monthAndDay}`, clock);
    if (wall !== undefined && (zone?.(wall) ?? wall) <= latest) return year;
  }
  return newest;
}

type Parts = {
  readonly date: string;
  readonly clock: string;
  readonly fraction?: string | undefined;
  readonly zone?: string | undefined;
};

function finish(value: string, { date, clock, fraction, zone: named }: Parts, zone: TimeZone | undefined): ReadTime {
  const decimals = fraction === undefined ? "" : `.${fraction}`;
  const offset = named === undefined ? undefined : offsetOf(named);
  if (offset !== undefined) return { time: `${date}T${clock}${decimals}${offset}` };
  if (zone === undefined) {
    return named === undefined ? { time: `${date}T${clock}${decimals}Z`, isZoneless: true } : { time: value };
  }
  const wall = wallClock(date, clock);
  if (wall === undefined) return { time: value };
  return { time: `${new Date(zone(wall)).toISOString().slice(0, 19)}${decimals}Z` };
}

function offsetOf(zone: string): string | undefined {
  if (!/^[+-]/.test(zone)) return OFFSETS.get(zone.toUpperCase());
  return `${zone.slice(0, 3)}:${zone.length > 3 ? zone.slice(-2) : "00"}`;
}

/** A date and time as if it were UTC; undefined for one that no calendar has. */
function wallClock(date: string, clock: string): number | undefined {
  const wall = Date.parse(`${date}T${clock}Z`);
  // Date.parse takes 30 February for 2 March.
  return !Number.isNaN(wall) && new Date(wall).getUTCDate() === Number(date.slice(-2)) ? wall : undefined;
}

const SHOWN_LENGTH = 80;

/** Why a time could not be read that a record of a sensor's own format gives, for the sensor's operator. */
export function explainTime(value: unknown): string {
  if (value === undefined) return "the record has no time";
  const text = String(value);
  const shown = text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
  const problem = /^\[ *\d+\.\d+\]/.test(text)
    ? "seconds since the kernel started name no date: expected a syslog line, or dmesg -T"
    : / [A-Z]{2,5}$/.test(text)
      ? "the zone's abbreviation has several meanings: name the zone in SENSOR_TIME_ZONES"
      : "expected RFC 3339, another usual date with or without zone, or seconds, milliseconds, microseconds or nanoseconds since 1970";
  return `cannot read the time "${shown}": ${problem}`;
}
