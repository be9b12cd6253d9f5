import { HOUR_MS } from "../time/window.ts";

/** A shorter silence means nothing: counts are kept by the hour. */
const LEAST_HOURS = 1;
/** The pauses of a sensor that came in fewer hours say nothing. */
const KNOWN_HOURS = 3;
const UNKNOWN_LIMIT_HOURS = 24;

/** When a sensor came during the last days. */
export type SensorPresence = {
  /** Milliseconds since 1970 UTC. */
  readonly lastSeen: number;
  /** In how many hours any record came. */
  readonly activeHours: number;
  /** The longest pause between two of these hours, in hours. */
  readonly longestPause: number;
};

/**
 * For how long a sensor may send nothing before it counts as silent, in milliseconds: twice its longest pause of the
 * last seven days and at least an hour, or a day for one that is new. Undefined when it need not come again: a name
 * that came in less than three hours may be a test, unless a key was made for it.
 */
export function silenceLimit({ activeHours, longestPause }: SensorPresence, isExpected: boolean): number | undefined {
  if (activeHours >= KNOWN_HOURS) return Math.max(LEAST_HOURS, 2 * longestPause) * HOUR_MS;
  return isExpected ? UNKNOWN_LIMIT_HOURS * HOUR_MS : undefined;
}

/** Whether a sensor has been silent for longer than its limit. @param now milliseconds since 1970 UTC. */
export function isSilent(presence: SensorPresence, isExpected: boolean, now: number): boolean {
  const limit = silenceLimit(presence, isExpected);
  return limit !== undefined && now - presence.lastSeen > limit;
}
