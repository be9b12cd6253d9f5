import { expect, test } from "vitest";
import { memoryCounter } from "./counter.ts";

const MOST = 100;
const key = (who: number | string, day = "2026-01-31") => `${day}:address:${who}`;

test("made-up callers, however many, fill no more than the bound and get no caller its lookups anew", () => {
  const counter = memoryCounter(MOST);
  for (let lookup = 0; lookup < 3; lookup++) counter.take(key("at its limit"), 3, 1);
  for (let lookup = 0; lookup < 2; lookup++) counter.take(key("busy"), 3, 1);
  for (let caller = 0; caller < 20 * MOST; caller++) {
    counter.take(key(caller), 3, 1);
    expect(counter.all().length).toBeLessThanOrEqual(MOST);
  }
  expect(counter.take(key("at its limit"), 3, 1).isGranted).toBe(false);
  expect(counter.take(key("busy"), 3, 1)).toEqual({ isGranted: true, used: 3 });
  expect(counter.usedOf(key(20 * MOST - 1)), "the latest callers are the last to go").toBe(1);
});

test("callers at their limit stay there, even when they alone fill the memory", () => {
  const counter = memoryCounter(MOST);
  for (let caller = 0; caller < MOST; caller++) counter.take(key(caller), 1, 1);
  for (let caller = 0; caller < MOST; caller++) counter.take(key(`late ${caller}`), 2, 1);
  expect(counter.all()).toHaveLength(MOST);
  for (let caller = 0; caller < MOST; caller++) expect(counter.take(key(caller), 1, 1).isGranted).toBe(false);
});

test("with the first lookup of a day those of other days are forgotten", () => {
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

test("a refused lookup is not remembered", () => {
  const counter = memoryCounter();
  expect(counter.take(key("a"), 0, 1)).toEqual({ isGranted: false, used: 0 });
  expect(counter.all()).toEqual([]);
});

test("several lookups at once are granted together or not at all, and given back together", () => {
  const counter = memoryCounter();
  expect(counter.take(key("a"), 10, 7)).toEqual({ isGranted: true, used: 7 });
  expect(counter.take(key("a"), 10, 4), "three are left").toEqual({ isGranted: false, used: 7 });
  expect(counter.take(key("a"), 10, 3)).toEqual({ isGranted: true, used: 10 });
  expect(counter.take(key("a"), 10, 0), "nothing costs nothing").toEqual({ isGranted: true, used: 10 });
  counter.giveBack(key("a"), 7);
  expect(counter.usedOf(key("a"))).toBe(3);
  counter.giveBack(key("a"), 7);
  expect(counter.usedOf(key("a")), "never below none").toBe(0);
});
