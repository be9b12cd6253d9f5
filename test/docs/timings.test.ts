import { expect, test } from "vitest";
import { costlier } from "../support/timings/costlier.ts";

const cost = (seconds: number, starts = 0, worlds = 0, inserts = 0) => ({ seconds, cpu: 0, starts, worlds, inserts });

test("a file that takes twice its share of a run is named, also on a slower machine, and one that starts twice as much fails", () => {
  const before = { a: cost(10, 2, 3, 100), b: cost(30), c: cost(50), d: cost(1, 1) };
  const slower = { a: cost(30, 2, 3, 100), b: cost(90), c: cost(150), d: cost(3, 2), new: cost(500, 50) };
  expect(costlier(before, slower)).toEqual({ named: [], failed: [] });
  const now = { ...before, a: cost(30, 2, 3, 100), d: cost(9, 5) };
  expect(costlier(before, now)).toEqual({
    named: ["a took 30 s, before 10 s"],
    failed: ["d: 5 starts, before 1"],
  });
  expect(costlier(before, { a: cost(10, 2, 9, 201) }).failed).toEqual([
    "a: 9 worlds, before 3",
    "a: 201 inserts, before 100",
  ]);
});
