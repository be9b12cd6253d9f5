import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { learnUsual, median } from "@noisefloor/query/watches/tag-rises/expected.ts";
import { expect, test } from "vitest";
import { atVolume } from "../../support/volume.ts";
import { type SimulatedHours, simulateHours } from "../../support/watches/simulated-hours.ts";

const DAY = 24;
const PAST = atVolume(14, 56) * DAY;
const JUDGED = atVolume(14, 60) * DAY;
const SPAN = {
  from: Date.parse("2026-07-01T00:00:00Z"),
  hours: PAST + JUDGED,
  seed: 4,
};
const MAX_MS = atVolume(120_000, 600_000);
/** Fewer addresses in an hour are never a rise. */
const MIN_RISE = 7;

/** The hours from one on that are above all that is usual. */
function risesOf({ all, byTag }: SimulatedHours, slug: string, from: number, end: number): number[] {
  const counts = byTag.get(slug) ?? new Float64Array();
  const others = all.map((count, hour) => count - (counts[hour] ?? 0));
  const hours = Array.from({ length: end - from }, (_, hour) => from + hour);
  return hours.filter((hour) => {
    const count = counts[hour] ?? 0;
    if (count < MIN_RISE) return false;
    // The last full hour, and what was known one hour before.
    const past = { counts: counts.subarray(hour - PAST, hour), others: others.subarray(hour - PAST, hour) };
    const expectHour = learnUsual({ from: (hour - PAST) * HOUR_MS, ...past });
    return count > expectHour(hour * HOUR_MS, others[hour] ?? 0).high;
  });
}

test(
  "without campaigns, no tag has an event a month",
  async () => {
    const quiet = await simulateHours({ ...SPAN, perDay: atVolume(4_000, 8_000), isQuiet: true });
    const perMonth = [...quiet.byTag.keys()].map((slug) => {
      let events = 0;
      let next = 0;
      for (const hour of risesOf(quiet, slug, PAST, SPAN.hours)) {
        // A watch tells of it once a day.
        if (hour >= next) events++;
        next = Math.max(next, hour + DAY);
      }
      return { slug, events: events / (JUDGED / (30 * DAY)) };
    });
    const worst = perMonth.toSorted((one, other) => other.events - one.events).slice(0, 3);
    const mean = perMonth.reduce((sum, { events }) => sum + events, 0) / perMonth.length;
    console.info(`${perMonth.length} tags: ${mean.toFixed(4)} events a tag and month; ${JSON.stringify(worst)}`);
    expect(perMonth.length).toBeGreaterThan(400);
    expect(worst[0]?.events).toBeLessThan(1);
  },
  MAX_MS,
);

/** A campaign has begun in the hour in which so many machines of it scan, and its tag has three times its usual. */
const MACHINES = 10;
const TIMES_USUAL = 3;

test(
  "campaigns are found within their first two hours",
  async () => {
    const simulated = await simulateHours({ ...SPAN, perDay: 8_000, isQuiet: false });
    const begun = simulated.campaigns.flatMap(({ slug, start, machines }) => {
      if (start < PAST) return [];
      const counts = simulated.byTag.get(slug) ?? new Float64Array();
      const usual = median(counts.subarray(Math.ceil(start) - PAST, Math.ceil(start)));
      const first = machines.findIndex(
        (count, hour) => count >= MACHINES && (counts[hour] ?? 0) >= TIMES_USUAL * usual && hour < SPAN.hours - 1,
      );
      if (first < 0) return [];
      const [found] = risesOf(simulated, slug, Math.ceil(start), SPAN.hours);
      return [{ slug, hours: found === undefined ? undefined : found - first, usual, count: counts[first] }];
    });
    const late = begun.filter(({ hours }) => hours === undefined || hours > 1);
    console.info(`${begun.length - late.length} of ${begun.length} campaigns; not: ${JSON.stringify(late)}`);
    expect(begun.length).toBeGreaterThanOrEqual(atVolume(3, 15));
    expect(late.length / begun.length).toBeLessThan(0.1);
  },
  MAX_MS,
);
