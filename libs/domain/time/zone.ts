/** Reads wall clocks of a zone: milliseconds that count the local date and time as if they were UTC → UTC. */
export type TimeZone = (wallMs: number) => number;

const MINUTE_MS = 60_000;
/** Offsets change at quarters of an hour only. */
const QUARTER_MS = 15 * MINUTE_MS;
/** No zone is farther from UTC than 14 hours, so that these two lie on either side of a wall clock's moment. */
const FARTHEST_MS = 15 * 60 * MINUTE_MS;
/** A year has 35,000 quarters of an hour. */
const MAX_KNOWN = 50_000;

/** Is this the name of a zone, like `Europe/Berlin`, `UTC` or `Etc/GMT-1`? */
export function isTimeZone(name: string): boolean {
  try {
    return name !== "" && new Intl.DateTimeFormat("en", { timeZone: name }).format(0) !== "";
  } catch {
    return false;
  }
}

/**
 * The zone of a name that satisfies {@link isTimeZone}. Of a time that comes twice, when clocks are set back, the
 * earlier one counts; one that is skipped, when they are set forward, counts as if they had not been.
 */
export function timeZone(name: string): TimeZone {
  const offsetAt = offsets(name);
  return (wallMs) => {
    // East of Greenwich the offset is larger: it gives the earlier moment.
    const [before, after] = [offsetAt(wallMs - FARTHEST_MS), offsetAt(wallMs + FARTHEST_MS)];
    const earlier = wallMs - Math.max(before, after);
    if (before === after || offsetAt(earlier) === Math.max(before, after)) return earlier;
    const later = wallMs - Math.min(before, after);
    return offsetAt(later) === Math.min(before, after) ? later : wallMs - before;
  };
}

/** By how many milliseconds a zone is ahead of UTC at a moment. */
function offsets(name: string): (utcMs: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: name,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const known = new Map<number, number>();
  return (utcMs) => {
    const quarter = Math.floor(utcMs / QUARTER_MS);
    const found = known.get(quarter);
    if (found !== undefined) return found;
    const moment = quarter * QUARTER_MS;
    const parts = new Map(format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]));
    const at = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
    const wall = Date.UTC(at("year"), at("month") - 1, at("day"), at("hour"), at("minute"), at("second"));
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(quarter, wall - moment);
    return wall - moment;
  };
}
