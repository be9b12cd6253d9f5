import { expect, test } from "vitest";
import { fallOf } from "./fall.ts";

const DAY = 86_400_000;
const listOf = (count: number, refreshedAt: number, basis = 1) => ({
  ...{ feedId: "f", revision: "r", parent: "p", guarded: 0, isTruncated: false, tookMs: 1 },
  ...{ count, refreshedAt, basis },
});

test("a list that loses half of its addresses, or all, at one refresh is marked until it has recovered", () => {
  const before = { head: listOf(10, 100) };
  expect(fallOf(before, listOf(6, 200))).toBeUndefined();
  expect(fallOf(before, listOf(5, 200))).toEqual({ from: 10, at: 200 });
  const fall = fallOf(before, listOf(0, 200));
  expect(fall).toEqual({ from: 10, at: 200 });
  const after = { head: listOf(0, 200), fall };
  expect(fallOf(after, listOf(0, 300))).toEqual(fall);
  expect(fallOf(after, listOf(6, 300))).toBeUndefined();
  expect(fallOf(after, listOf(0, 200 + DAY))).toBeUndefined();
});

test("a list whose definition or guard changed is not marked, nor one that was empty or never known", () => {
  expect(fallOf({ head: listOf(10, 100) }, listOf(0, 200, 2))).toBeUndefined();
  expect(fallOf({ head: listOf(0, 100) }, listOf(0, 200))).toBeUndefined();
  expect(fallOf(undefined, listOf(0, 200))).toBeUndefined();
});
