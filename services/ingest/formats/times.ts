import { isFields } from "./fields.ts";

/** Date, time, fraction and zone, as sensors write them. */
const TIME = /^(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s*(Z|UTC|[+-]\d\d:?\d\d)?$/i;
/** Seconds since 1970 stay below this until the year 5138; milliseconds are above it since 1973. */
const MOST_SECONDS = 1e11;

/**
 * A sensor's time as RFC 3339. A text without a zone is UTC; a number counts seconds or milliseconds since 1970; a
 * MongoDB export wraps its times. Another text is returned as it is, so that the rejection shows it.
 */
export function toTime(value: unknown): unknown {
  if (isFields(value) && "$date" in value) return toTime(value.$date);
  if (typeof value === "number" || (typeof value === "string" && /^\d{9,13}(?:\.\d+)?$/.test(value))) {
    const number = Number(value);
    const milliseconds = number < MOST_SECONDS ? number * 1_000 : number;
    const time = new Date(milliseconds);
    return Number.isNaN(time.getTime()) ? String(value) : time.toISOString();
  }
  const parts = typeof value === "string" ? TIME.exec(value.trim()) : null;
  // An object would take many times the memory of its bytes.
  if (parts === null) return typeof value === "object" ? undefined : value;
  const [, year, month, day, clock, fraction = "", zone = "Z"] = parts;
  const offset = /^[+-]\d{4}$/.test(zone) ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase();
  return `${year}-${month}-${day}T${clock}${fraction === "" ? "" : `.${fraction}`}${offset === "UTC" ? "Z" : offset}`;
}
