import { expect, test } from "vitest";
import { pageSizeFor } from "./page-size.ts";

test.each([
  [1, 1],
  [10_000, 10_000],
  [10_002, 5_001],
  [12_000, 6_000],
  [25_000, 6_250],
  [100_000, 10_000],
  [Number.POSITIVE_INFINITY, 10_000],
])("a limit of %d addresses is made up of pages of %d", (limit, size) => {
  expect(pageSizeFor(limit)).toBe(size);
});

test("no page is larger than the API's, and those of a limit list fewer addresses beyond it than there are pages", () => {
  for (let limit = 9_990; limit < 40_000; limit += 7) {
    const size = pageSizeFor(limit);
    const pages = Math.ceil(limit / size);
    expect(size).toBeLessThanOrEqual(10_000);
    expect(pages * size - limit).toBeLessThan(pages);
  }
  expect(pageSizeFor(10_001)).toBe(5_001);
});
