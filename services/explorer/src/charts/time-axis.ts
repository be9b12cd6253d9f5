const [MINUTE, HOUR, DAY] = [60, 3_600, 86_400];

/** What may lie between two labels of a time axis, in seconds: from a day down, parts of a day, so that labels are round. */
export const TIME_STEPS = [
  ...[1, 5, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 4, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 4, 7, 14, 28].map((days) => days * DAY),
];

/**
 * The labels of some times, in seconds since 1970: the time of day, or from steps of a day on the date. A second line
 * has the date or the year where it differs from that of the label before. UTC, in whatever time zone the browser is.
 */
export function formatTimes(times: readonly number[], step: number): string[] {
  return times.map((time, n) => {
    const [date, clock] = partsOf(time);
    const [dateBefore] = partsOf(times[n - 1] ?? Number.NaN);
    const isNewYear = date.slice(0, 4) !== dateBefore.slice(0, 4);
    const zone = n === 0 ? " UTC" : "";
    if (step >= DAY) return `${date.slice(5)}${isNewYear ? `\n${date.slice(0, 4)}${zone}` : ""}`;
    if (date === dateBefore) return clock;
    return `${clock}\n${isNewYear ? date : date.slice(5)}${zone}`;
  });
}

function partsOf(seconds: number): readonly [date: string, clock: string] {
  if (Number.isNaN(seconds)) return ["", ""];
  const text = new Date(seconds * 1_000).toISOString();
  return [text.slice(0, 10), text.slice(11, 16)];
}
