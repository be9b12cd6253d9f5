import { expect, test } from "vitest";
import { expectedOf, levelOf, MAX_DAYS } from "./rises.ts";

/** A generator of the same numbers each time, from 0 to 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** A count that varies by chance alone. */
function poisson(mean: number, next: () => number): number {
  if (mean > 50) {
    const normal = Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next());
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal));
  }
  let count = 0;
  for (let left = next(); left > Math.exp(-mean); left *= next()) count++;
  return count;
}

test.each([0.05, 0.5, 3, 20, 200, 5_000])(
  "a tag with %d addresses a day rises less than once in a year by chance",
  (mean) => {
    const next = numbers(7);
    const days = Array.from({ length: 4 * 365 + MAX_DAYS }, () => poisson(mean, next));
    const rises = days.slice(MAX_DAYS).filter((count, day) => count > expectedOf(days.slice(day, day + MAX_DAYS)).high);
    expect(rises.length).toBeLessThan(4);
  },
);

test("weekends with half as many are usual, and a third more than on any day is a rise", () => {
  const next = numbers(3);
  const days = Array.from({ length: 28 }, (_, day) => poisson(day % 7 < 5 ? 1_000 : 500, next));
  expect(expectedOf(days).high).toBeGreaterThan(1_000);
  expect(expectedOf(days).high).toBeLessThan(1_340);
});

test("a rise of a week that is over neither hides the next one nor becomes usual", () => {
  const next = numbers(5);
  const days = Array.from({ length: 28 }, (_, day) => poisson(day >= 3 && day < 10 ? 2_000 : 100, next));
  expect(expectedOf(days).high).toBeLessThan(200);
});

test("when most tags have doubled, as by new sensors, a tag that doubled has not risen, and one with five times as many has", () => {
  const past = Array.from({ length: 28 }, (_, day) => 100 + (day % 5));
  const tags = Array.from({ length: 9 }, (_, n) => ({ addresses: n === 0 ? 510 : 204, past }));
  const level = levelOf(tags);
  expect(level).toBe(2);
  const { high } = expectedOf(past.map((count) => count * level));
  expect(high).toBeGreaterThan(204);
  expect(high).toBeLessThan(510);
  expect(levelOf(tags.slice(0, 4))).toBe(1);
  expect(levelOf(tags.map(({ addresses }) => ({ addresses: addresses / 4, past })))).toBe(1);
});
