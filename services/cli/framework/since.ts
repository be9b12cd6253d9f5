import { parseObservedAt } from "@noisefloor/domain/observation/schema.ts";
import { DAY_MS, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { UserError } from "./command.ts";

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: HOUR_MS, d: DAY_MS };

/**
 * The value of an option like `--since` in milliseconds since 1970 UTC: an RFC 3339 time, or minutes, hours or days
 * before `now`.
 * @throws UserError when it is neither.
 */
export function readSince(text: string, now: number, option = "--since"): number {
  const [, count, unit = ""] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const time = count === undefined ? parseObservedAt(text) : now - Number(count) * (UNITS[unit] ?? 0);
  if (time !== undefined) return time;
  throw new UserError(`${option} takes a time like 2026-11-20T14:00:00Z, or 5m, 12h or 7d, not "${text}"`);
}
