import { expect, test } from "vitest";
import { memoryCounter } from "./memory-counter.ts";

const MAX = 100;
const key = (caller: number | string, day = "2026-01-31") => `${day}:address:${caller}`;

test("any number of faked callers stays within the bound, and resets no caller at its limit", () => {
  const counter = memoryCounter(MAX);
  for (let lookup = 0; lookup < 3; lookup++) counter.take(key("at its limit"), 3, 1);
  for (let lookup = 0; lookup < 2; lookup++) counter.take(key("busy"), 3, 1);
  for (let caller = 0; caller < 20 * MAX; caller++) {
    counter.take(key(caller), 3, 1);
    expect(counter.all().length).toBeLessThanOrEqual(MAX);
  }
  expect(counter.take(key("at its limit"), 3, 1).isGranted).toBe(false);
  expect(counter.take(key("busy"), 3, 1)).toEqual({ isGranted: true, used: 3 });
  expect(counter.usedOf(key(20 * MAX - 1)), "the latest callers are evicted last").toBe(1);
});

test("callers at their limit are never evicted, even when they alone reach the bound", () => {
  const counter = memoryCounter(MAX);
  for (let caller = 0; caller < MAX; caller++) counter.take(key(caller), 1, 1);
  for (let caller = 0; caller < MAX; caller++) counter.take(key(`late ${caller}`), 2, 1);
  expect(counter.all()).toHaveLength(MAX);
  for (let caller = 0; caller < MAX; caller++) expect(counter.take(key(caller), 1, 1).isGranted).toBe(false);
});

test("the first lookup of a day removes the counts of other days", () => {
  const counter = memoryCounter();
  counter.restore([
    { key: key("a", "2026-01-30"), used: 1, limit: 3 },
    { key: key("a"), used: 1, limit: 3 },
  ]);
  counter.take(key("b"), 3, 1);
  expect(counter.all().map((count) => count.key)).toEqual([key("a"), key("b")]);
  counter.take(key("c", "2026-02-01"), 3, 1);
  expect(counter.all().map((count) => count.key)).toEqual([key("c", "2026-02-01")]);
});

test("a rejected lookup is not counted", () => {
  const counter = memoryCounter();
  expect(counter.take(key("a"), 0, 1)).toEqual({ isGranted: false, used: 0 });
  expect(counter.all()).toEqual([]);
});

test("several lookups are granted all or none, and refunded together", () => {
  const counter = memoryCounter();
  expect(counter.take(key("a"), 10, 7)).toEqual({ isGranted: true, used: 7 });
  expect(counter.take(key("a"), 10, 4), "three are left").toEqual({ isGranted: false, used: 7 });
  expect(counter.take(key("a"), 10, 3)).toEqual({ isGranted: true, used: 10 });
  expect(counter.take(key("a"), 10, 0), "no lookups are always granted").toEqual({ isGranted: true, used: 10 });
  counter.refund(key("a"), 7);
  expect(counter.usedOf(key("a"))).toBe(3);
  counter.refund(key("a"), 7);
  expect(counter.usedOf(key("a")), "never below zero").toBe(0);
});
