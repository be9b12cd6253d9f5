import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { describe, expect, test } from "vitest";
import { learnUsual } from "./expected.ts";

const DAY = 24;
const WEEK = 7 * DAY;
const EIGHT_WEEKS = 8 * WEEK;
const MONTH = 30 * DAY;

/** Numbers from 0 to 1 that are the same in every run. */
function drawing(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
}

/** A count that is due to chance, of a mean. */
function chance(mean: number, random: () => number): number {
  if (mean > 50) return chance(mean / 2, random) + chance(mean / 2, random);
  let count = 0;
  for (let left = random(); left > Math.exp(-mean); left *= random()) count++;
  return count;
}

type Course = (hour: number, random: () => number) => number;
const draw = (hours: number, course: Course, seed = 1) => {
  const random = drawing(seed);
  return Float64Array.from({ length: hours }, (_, hour) => course(hour, random));
};
const steady = (hours: number) => new Float64Array(hours).fill(500);
const usualAfter = (counts: Float64Array, others = steady(counts.length)) =>
  learnUsual({ from: 0, counts, others })(counts.length * HOUR_MS, others.at(-1) ?? 0);

/** How many events the months after the past make, as a watch tells of them: one a day at most. */
function eventsOf(course: Course, months: number, past = EIGHT_WEEKS, othersOf: Course = () => 500): number {
  const counts = draw(past + months * MONTH, course);
  const others = draw(counts.length, othersOf, 2);
  // Learned once a day and not once an hour, which takes a twentieth of the time.
  const isEvent = Array.from({ length: months * 30 }, (_, day) => past + day * DAY).map((start) => {
    const before = { counts: counts.subarray(start - past, start), others: others.subarray(start - past, start) };
    const expectHour = learnUsual({ from: (start - past) * HOUR_MS, ...before });
    const hours = Array.from({ length: DAY }, (_, hour) => start + hour);
    return hours.some((hour) => (counts[hour] ?? 0) > expectHour(hour * HOUR_MS, others[hour] ?? 0).high);
  });
  return isEvent.filter(Boolean).length;
}

const workday: Course = (hour) => (hour % DAY >= 8 && hour % DAY < 18 && hour % WEEK < 5 * DAY ? 100 : 5);

describe("fewer than one event a month comes of", () => {
  test.each<[string, Course]>([
    ["a tag that is hardly seen", (_, random) => chance(0.5, random)],
    ["a tag of some addresses", (_, random) => chance(20, random)],
    ["a tag of many addresses", (_, random) => chance(1_000, random)],
    ["a tag that sleeps at night and at weekends", (hour, random) => chance(workday(hour, random), random)],
    ["a tag that one scanner sweeps through at the same time each day", (hour) => (hour % DAY === 3 ? 300 : 5)],
    ["a tag of bursts at any time", (_, random) => (random() < 0.05 ? chance(30, random) : 0)],
    ["a tag with a burst every ten days", (_, random) => (random() < 0.004 ? chance(30, random) : 0)],
    ["a tag that doubles within eight weeks", (hour, random) => chance(100 * 2 ** (hour / EIGHT_WEEKS), random)],
    ["a tag that halves within eight weeks", (hour, random) => chance(800 * 0.5 ** (hour / EIGHT_WEEKS), random)],
    ["a tag whose counts vary more than by chance", (_, random) => chance(20 * (0.5 + random()), random)],
  ])("%s", (_, course) => {
    expect(eventsOf(course, 3)).toBeLessThan(3);
    expect(eventsOf(course, 3, 2 * WEEK)).toBeLessThan(3);
  });

  test("a fleet of sensors that doubles", () => {
    const doubled = (mean: number): Course => {
      return (hour, random) => chance(hour < EIGHT_WEEKS + 100 ? mean : 2 * mean, random);
    };
    expect(eventsOf(doubled(100), 3, EIGHT_WEEKS, doubled(600))).toBe(0);
    // The same rise of the tag alone is one.
    expect(eventsOf(doubled(100), 3)).toBeGreaterThan(0);
  });
});

test("two addresses where usually none are seen are no rise, and ten are", () => {
  const { high } = usualAfter(new Float64Array(EIGHT_WEEKS));
  expect(high).toBeGreaterThan(2);
  expect(high).toBeLessThan(10);
});

test("a rise is told by the hour of the week", () => {
  const counts = draw(EIGHT_WEEKS + DAY + 12, (hour, random) => chance(workday(hour, random), random));
  const expectHour = learnUsual({ from: 0, counts, others: steady(counts.length) });
  const [day, night] = [EIGHT_WEEKS + DAY + 12, EIGHT_WEEKS + DAY + 22].map((hour) => expectHour(hour * HOUR_MS, 500));
  expect(day?.median).toBeGreaterThan(80);
  expect(day?.high).toBeLessThan(200);
  expect(night?.high).toBeLessThan(60);
});

test("a campaign of the past neither raises what is usual nor hides the next one", () => {
  const random = drawing(3);
  const quiet = draw(EIGHT_WEEKS, () => chance(10, random));
  const campaign = (hour: number) => (hour > 600 && hour < 600 + 10 * DAY ? 200 : 0);
  const { median, high } = usualAfter(quiet);
  const after = usualAfter(quiet.map((count, hour) => count + campaign(hour)));
  expect(after.median).toBeLessThan(median * 1.4);
  expect(after.high).toBeLessThan(high * 1.5);
});

test("a new level is usual after two days", () => {
  const counts = draw(EIGHT_WEEKS, (hour, random) => chance(hour < EIGHT_WEEKS - 2 * DAY ? 20 : 100, random));
  expect(usualAfter(counts).high).toBeGreaterThan(100);
});

test("hours in which no sensor was heard are not hours without addresses", () => {
  const isDown = (hour: number) => hour % 5 < 3;
  const counts = draw(EIGHT_WEEKS, (hour, random) => (isDown(hour) ? Number.NaN : chance(50, random)));
  const usual = usualAfter(
    counts,
    steady(EIGHT_WEEKS).map((count, hour) => (isDown(hour) ? Number.NaN : count)),
  );
  expect(usual.median).toBeGreaterThan(40);
  expect(usual.madeFrom.map(({ hour }) => hour / HOUR_MS).filter(isDown)).toEqual([]);
});

test("the hours that the range is made from are shown: with four weeks those of the week, else those of the day", () => {
  const hoursOf = (weeks: number) => {
    const { madeFrom } = usualAfter(draw(weeks * WEEK, (hour) => hour));
    expect(madeFrom.every(({ hour, count }) => count === hour / HOUR_MS)).toBe(true);
    return madeFrom.map(({ count }) => count);
  };
  const around = (weeks: number, period: number) =>
    Array.from({ length: weeks * WEEK }, (_, hour) => hour).filter((hour) =>
      [0, 1, period - 1].includes(hour % period),
    );
  expect(hoursOf(8)).toEqual(around(8, WEEK));
  expect(hoursOf(2)).toEqual(around(2, DAY));
});
