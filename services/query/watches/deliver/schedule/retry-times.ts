import { DAY_MS, HOUR_MS } from "@noisefloor/domain/time/window.ts";

const MINUTE_MS = 60_000;

/** The pauses after the first failed attempts, in milliseconds; all later ones are {@link LAST_PAUSE_MS}. */
const PAUSES_MS = [5_000, 30_000, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS];
const LAST_PAUSE_MS = 2 * HOUR_MS;
/** For how long an event is tried after it was detected. */
export const DELIVER_FOR_MS = 3 * DAY_MS;

/**
 * When an event is tried again, in milliseconds since 1970 UTC; undefined when it was tried for long enough.
 * @param attempts how many have failed.
 */
export function nextAttemptAt(attempts: number, detectedAt: number, now: number): number | undefined {
  const next = now + (PAUSES_MS[attempts - 1] ?? LAST_PAUSE_MS);
  return next > detectedAt + DELIVER_FOR_MS ? undefined : next;
}
