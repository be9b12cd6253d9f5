import { expect, test } from "vitest";
import { fallOf } from "./fall.ts";

const DAY = 86_400_000;
const WELL = { kept: 0, fellFrom: 0, fellAt: 0 };
const NO_FALL = { fellFrom: 0, fellAt: 0 };

test("a list that loses half of its addresses, or all, at one refresh is marked until it has recovered", () => {
  expect(fallOf(WELL, 10, 6, 200)).toEqual(NO_FALL);
  expect(fallOf(WELL, 10, 5, 200)).toEqual({ fellFrom: 10, fellAt: 200 });
  const fall = fallOf(WELL, 10, 0, 200);
  expect(fall).toEqual({ fellFrom: 10, fellAt: 200 });
  const after = { ...fall, kept: 0 };
  expect(fallOf(after, 0, 0, 300)).toEqual(fall);
  expect(fallOf(after, 0, 6, 300)).toEqual(NO_FALL);
  expect(fallOf(after, 0, 0, 200 + DAY)).toEqual(NO_FALL);
});

test("a list whose guard took the addresses away is not marked, nor one that was empty", () => {
  expect(fallOf(WELL, 3, 3, 200)).toEqual(NO_FALL);
  expect(fallOf(WELL, 0, 0, 200)).toEqual(NO_FALL);
});

test("a list that falls again is marked again, but not while addresses of before the fall are kept", () => {
  const fallen = { fellFrom: 1_000, fellAt: 200 };
  expect(fallOf({ ...fallen, kept: 600 }, 1_000, 100, 300)).toEqual(fallen);
  expect(fallOf({ ...fallen, kept: 0 }, 400, 100, 300)).toEqual({ fellFrom: 1_000, fellAt: 300 });
});
