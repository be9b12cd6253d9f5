import { expect, test } from "vitest";
import { type MemoryBudget, memoryBudget } from "./memory-budget.ts";

function reserve(budget: MemoryBudget, sender = "one") {
  const reservation = budget.reserve(sender);
  return { ...reservation, release: reservation.hold() };
}

test("a sender may reserve half of what others leave, and released memory once more, however often it is released", () => {
  const budget = memoryBudget(128);
  const [first, second, third, other] = [..."1112"].map((sender) => reserve(budget, sender));
  expect([first?.grow(50), second?.grow(4), first?.grow(10)]).toEqual([true, true, true]);
  expect([third?.grow(1), budget.hasSpace(1, "1")]).toEqual([false, false]);
  expect([budget.hasSpace(33, "2"), other?.grow(32), budget.hasSpace(1, "2")]).toEqual([false, true, false]);
  expect([budget.hasSpace(17, "3"), budget.hasSpace(16, "3")]).toEqual([false, true]);
  first?.release();
  first?.release();
  expect([budget.hasSpace(45, "1"), budget.hasSpace(44, "1")]).toEqual([false, true]);
  second?.release();
  other?.release();
  expect(third?.grow(64)).toBe(true);
});

test("however many senders have reserved all they may, the next one gets some", () => {
  const budget = memoryBudget(128 * 1024 * 1024);
  for (let n = 0; n < 40; n++) {
    const { grow } = reserve(budget, `hostile ${n % 10}`);
    for (let bytes = 0; bytes < 32 * 1024 * 1024 && grow(1_024); bytes += 1_024);
  }
  expect(reserve(budget, "sensor").grow(50_000)).toBe(true);
});

test("an empty budget accepts a request larger than itself, as long as it is alone", () => {
  const budget = memoryBudget(100);
  const [large, other] = [reserve(budget), reserve(budget, "other")];
  expect([large.grow(60), large.grow(1_000)]).toEqual([true, true]);
  expect(other.grow(1)).toBe(false);
  large.release();
  expect(other.grow(1)).toBe(true);
});

test("a reservation ends when its last holder releases it, and cannot grow after that", () => {
  const budget = memoryBudget(100);
  const reservation = budget.reserve("one");
  const release = reservation.hold();
  reservation.grow(80);
  const releaseLast = reservation.hold();
  release();
  expect(budget.hasSpace(1, "one")).toBe(false);
  releaseLast();
  expect(budget.hasSpace(100, "one")).toBe(true);
  expect(reservation.grow(1)).toBe(false);
});
