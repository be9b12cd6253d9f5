import { expect, test } from "vitest";
import { timeseriesCost } from "./costs.ts";

test("a time series costs more with more days and with more conditions, up to what a caller can ever take", () => {
  expect(timeseriesCost({ days: 1, conditions: 3 })).toBe(4);
  expect(timeseriesCost({ days: 31, conditions: 3 })).toBe(6);
  expect(timeseriesCost({ days: 1, conditions: 60 })).toBe(7);
  expect(timeseriesCost({ days: 90, conditions: 500 })).toBe(9);
});
