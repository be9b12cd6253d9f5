import { expect, test } from "vitest";
import { type MemoryBudget, memoryBudget } from "./memory-budget.ts";

const budgetOf = (bytes: number) => memoryBudget({ bytes, bytesPerSender: bytes });

function reserve(budget: MemoryBudget, sender = "one") {
  const reservation = budget.reserve(sender);
  return { ...reservation, release: reservation.hold() };
}

test("a budget takes what fits, and what was released can be taken again, however often it was released", () => {
  const budget = budgetOf(100);
  const [first, second, third] = [reserve(budget), reserve(budget), reserve(budget)];
  expect([first.grow(50), second.grow(40), first.grow(10)]).toEqual([true, true, true]);
  expect([third.grow(1), budget.hasSpace(1, "one")]).toEqual([false, false]);
  first.release();
  first.release();
  expect([budget.hasSpace(61, "one"), budget.hasSpace(60, "one")]).toEqual([false, true]);
  second.release();
  expect(third.grow(100)).toBe(true);
});

test("a budget of which nothing is taken takes what would never fit, as long as it is alone", () => {
  const budget = budgetOf(100);
  const [large, other] = [reserve(budget), reserve(budget)];
  expect([large.grow(60), large.grow(1_000)]).toEqual([true, true]);
  expect(other.grow(1)).toBe(false);
  large.release();
  expect(other.grow(1)).toBe(true);
});

test("a reservation ends when the last of its holders has let go, and takes nothing after that", () => {
  const budget = budgetOf(100);
  const reservation = budget.reserve("one");
  const release = reservation.hold();
  reservation.grow(80);
  const letGo = reservation.hold();
  release();
  expect(budget.hasSpace(50, "one")).toBe(false);
  letGo();
  expect(budget.hasSpace(100, "one")).toBe(true);
  expect(reservation.grow(1)).toBe(false);
});

test("what one sender has taken of its share leaves the rest to the others", () => {
  const budget = memoryBudget({ bytes: 100, bytesPerSender: 50 });
  const [first, second, other] = [reserve(budget), reserve(budget), reserve(budget, "other")];
  expect([first.grow(30), second.grow(20), second.grow(1)]).toEqual([true, true, false]);
  expect([budget.hasSpace(1, "one"), budget.hasSpace(50, "other"), budget.hasSpace(51, "other")]).toEqual([
    false,
    true,
    // Alone in its share, but not in the budget.
    false,
  ]);
  expect(other.grow(50)).toBe(true);
  first.release();
  expect([budget.hasSpace(30, "one"), second.grow(30), other.grow(1)]).toEqual([true, true, false]);
});
