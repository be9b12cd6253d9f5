import { expect, test } from "vitest";
import { stack } from "./stack.ts";

test("stacked bars stand on those before them, the highest first", () => {
  expect(
    stack([
      [1, 0, 2],
      [3, 4, 0],
      [5, 0, 0],
    ]),
  ).toEqual([
    [9, 4, 2],
    [4, 4, 2],
    [1, 0, 2],
  ]);
  expect(stack([])).toEqual([]);
});
