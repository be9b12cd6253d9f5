import { expect, test } from "vitest";
import { stack } from "./stack.ts";

test("stacked bars stand on those before them, the highest first, each with its own series", () => {
  const [one, two, three] = [{ values: [1, 0, 2] }, { values: [3, 4, 0] }, { values: [5, 0, 0] }];
  const stacked = stack([one, two, three]);
  expect(stacked.map(({ heights }) => heights)).toEqual([
    [9, 4, 2],
    [4, 4, 2],
    [1, 0, 2],
  ]);
  expect(stacked.map(({ series }) => series)).toEqual([three, two, one]);
  expect(stack([])).toEqual([]);
});
