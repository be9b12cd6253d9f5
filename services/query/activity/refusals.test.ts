import { expect, test } from "vitest";
import { createRefusals } from "./refusals.ts";

test("a query is remembered as refused for ten minutes since it was refused last", () => {
  let now = 0;
  const refusals = createRefusals(() => now);
  expect(refusals.has("a")).toBe(false);
  refusals.add("a");
  now = 5 * 60_000;
  refusals.add("a");
  expect([refusals.has("a"), refusals.has("b")]).toEqual([true, false]);
  now = 15 * 60_000 - 1;
  expect(refusals.has("a")).toBe(true);
  now++;
  expect(refusals.has("a")).toBe(false);
});

test("the one refused longest ago is forgotten first when there are too many", () => {
  const refusals = createRefusals(() => 0);
  for (let number = 0; number < 1_000; number++) refusals.add(`${number}`);
  refusals.add("0");
  refusals.add("one more");
  expect(["0", "1", "2", "one more"].map((query) => refusals.has(query))).toEqual([true, false, true, true]);
});
