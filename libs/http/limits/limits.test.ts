import { expect, test } from "vitest";
import { defaultQueryCapacity } from "./limits.ts";

test.each([
  [1, 4],
  [2, 4],
  [6, 12],
  [64, 16],
])("on %i processors large queries may cost %i at once", (processors, capacity) => {
  expect(defaultQueryCapacity(processors)).toBe(capacity);
});
