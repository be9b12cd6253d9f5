import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import type { TimeZone } from "@noisefloor/domain/time/zone.ts";
import { isFields } from "./fields.ts";

/** What is known of a sensor's times besides what they say. */
export type TimeSource = {
  /** The zone of times that name none; left out, UTC. */
  readonly zone?: TimeZone | undefined;
  /** Milliseconds since 1970 UTC: a time without a year is of the last year in which it is no later. */
  readonly latest: number;
};

const CLOCK = String.raw`(\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?`;
const ZONE = String.raw`(Z|[+-]\d\d(?::?\d\d)?|[A-Z]{2,5})`;
const DAY = String.raw`([ \d]?\d)`;
const MONTH = "([A-Z][a-z]{2})";
const WEEKDAY = "(?:[A-Z][a-z]{2},? )?";

/** Date, time, fraction and zone, as most sensors write them. */
const TIME = new RegExp(String.raw`^(?:[A-Z][a-z]{2} )?(\d{4})[-/](\d\d)[-/](\d\d)[T ]${CLOCK}\s*${ZONE}?$`, "i");

type Group = "year" | "month" | "day" | "clock" | "fraction" | "zone";
/** Spellings with the month's name, and what their groups are. */
const NAMED_MONTH: readonly (readonly [pattern: RegExp, groups: readonly Group[]])[] = (
  [
    // Nov 27 13:00:00, with year 2026 or zone UTC behind, and Fri Nov 27 13:00:00 UTC 2026
    [`${MONTH} ${DAY} ${CLOCK}(?: ${ZONE})?(?: (\\d{4}))?`, ["month", "day", "clock", "fraction", "zone", "year"]],
    // Nov 27 2026 13:00:00, Nov 27, 2026 13:00:00 CET
    [`${MONTH} ${DAY},? (\\d{4}) ${CLOCK}(?: ?${ZONE})?`, ["month", "day", "year", "clock", "fraction", "zone"]],
    // 27/Nov/2026:13:00:00 +0100, Fri, 27 Nov 2026 13:00:00 GMT, 27-Nov-2026 13:00:00.123
    [
      `${DAY}[ /-]${MONTH}[ /-](\\d{4})[: ]${CLOCK}(?: ?${ZONE})?`,
      ["day", "month", "year", "clock", "fraction", "zone"],
    ],
    // 2026 Nov 27 13:00:00
    [`(\\d{4}) ${MONTH} ${DAY} ${CLOCK}(?: ?${ZONE})?`, ["year", "month", "day", "clock", "fraction", "zone"]],
    // nov/27/2026 13:00:00, nov/27 13:00:00
    [`${MONTH}/${DAY}(?:/(\\d{4}))? ${CLOCK}`, ["month", "day", "year", "clock", "fraction"]],
  ] satisfies [string, Group[]][]
).map(([pattern, groups]) => [new RegExp(`^${WEEKDAY}${pattern}$`, "i"), groups]);
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
const MOST_SECONDS = 1e11;

/** A sensor's time: RFC 3339, or what it was when it cannot be read, so that the rejection shows it. */
export type ReadTime = {
  readonly time: unknown;
  /** Read as UTC, though it names no zone. */
  readonly isZoneless?: true;
};

/**
 * Reads a sensor's time. A number counts seconds, milliseconds, microseconds or nanoseconds since 1970; a MongoDB export
 * wraps its times.
 */
export function readTime(value: unknown, source: TimeSource): ReadTime {
  if (isFields(value)) return readTime(value.$date ?? value.$numberLong ?? null, source);
  if (typeof value === "number") return { time: fromEpoch(value) ?? String(value) };
  // A list would take many times the memory of its bytes.
  if (typeof value !== "string") return { time: typeof value === "object" ? undefined : value };
  const text = value.trim();
  const parts = TIME.exec(text);
  if (parts !== null) {
    const [, year = "", month = "", day = "", clock = "", fraction, zone] = parts;
    return finish(value, { date: `${year}-${month}-${day}`, clock, fraction, zone }, source);
  }
  if (EPOCH.test(text)) return { time: fromEpoch(Number(text)) ?? value };
  return readNamedMonth(value, text, source);
}

function fromEpoch(count: number): string | undefined {
  let milliseconds = count * 1_000;
  for (let most = MOST_SECONDS; count >= most && most < 1e20; most *= 1_000) milliseconds /= 1_000;
  const time = new Date(milliseconds);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

function readNamedMonth(value: string, text: string, source: TimeSource): ReadTime {
  if (text.length > MAX_TEXT) return { time: value };
  for (const [pattern, groups] of NAMED_MONTH) {
    const match = pattern.exec(text);
    if (match === null) continue;
    const at = (group: Group) => match[groups.indexOf(group) + 1];
    const month = MONTHS.indexOf(at("month")?.toLowerCase() ?? "") / 3 + 1;
    if (!Number.isInteger(month) || month < 1) break;
    const clock = at("clock") ?? "";
    const day = `${twoDigits(month)}-${twoDigits(Number(at("day")))}`;
    const year = at("year") ?? lastYear(day, clock, source);
    return finish(value, { date: `${year}-${day}`, clock, fraction: at("fraction"), zone: at("zone") }, source);
  }
  return { time: value };
}

const twoDigits = (number: number) => String(number).padStart(2, "0");

/** The last year in which a day exists and is not after the latest time. */
function lastYear(day: string, clock: string, { zone, latest }: TimeSource): number {
  const newest = new Date(latest + DAY_MS).getUTCFullYear();
  const isPast = (year: number) => {
    const wall = wallClock(`${year}-${day}`, clock);
    return wall !== undefined && (zone?.(wall) ?? wall) <= latest;
  };
  // 29 February is every four years, but in 2100.
  for (let year = newest; year > newest - 9; year--) if (isPast(year)) return year;
  return newest;
}

type Parts = {
  readonly date: string;
  readonly clock: string;
  readonly fraction?: string | undefined;
  readonly zone?: string | undefined;
};

function finish(value: string, { date, clock, fraction, zone }: Parts, source: TimeSource): ReadTime {
  const decimals = fraction === undefined ? "" : `.${fraction}`;
  const offset = zone === undefined ? undefined : offsetOf(zone);
  if (offset !== undefined) return { time: `${date}T${clock}${decimals}${offset}` };
  if (source.zone === undefined) {
    return zone === undefined ? { time: `${date}T${clock}${decimals}Z`, isZoneless: true } : { time: value };
  }
  const wall = wallClock(date, clock);
  if (wall === undefined) return { time: value };
  return { time: `${new Date(source.zone(wall)).toISOString().slice(0, 19)}${decimals}Z` };
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
