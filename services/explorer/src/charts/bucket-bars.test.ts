import { expect, test } from "vitest";
import { bucketAt } from "./bucket-bars.ts";

test("a time is in the bucket that it lies in, not in the one whose start is nearer", () => {
  const edges = [0, 4, 8, 9];
  expect([0, 3.9, 4, 8, 8.9].map((time) => bucketAt(edges, time))).toEqual([0, 0, 1, 2, 2]);
  expect([-1, 9, 10].map((time) => bucketAt(edges, time))).toEqual([undefined, undefined, undefined]);
});
