import fc from "fast-check";
import { expect, test } from "vitest";
import { findJsonExcess, MAX_JSON_LEVELS, MAX_JSON_VALUES } from "./json-bounds.ts";

const arrays = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
const objects = (levels: number) => `${'{"[":'.repeat(levels)}1${"}".repeat(levels)}`;

test.each([arrays, objects])("a text may be nested to the last allowed level, and no deeper", (nested) => {
  expect(findJsonExcess(nested(MAX_JSON_LEVELS))).toBeUndefined();
  for (const levels of [MAX_JSON_LEVELS + 1, 1_000, 1_000_000]) {
    expect(findJsonExcess(nested(levels))).toBe("is nested more than 64 levels deep");
  }
});

test("many brackets beside each other, or in texts, are not nested", () => {
  expect(findJsonExcess(`[${Array(1_000).fill("[{}]").join()}]`)).toBeUndefined();
  expect(findJsonExcess(JSON.stringify(["[".repeat(1_000), '"\\[{'.repeat(1_000)]))).toBeUndefined();
});

test.each(["1", "{}", "[]", '{"a":1}', '","'])(
  "a list of too many %s is too much, and one within the limit is not",
  (item) => {
    const list = (length: number) => `[${Array(length).fill(item).join()}]`;
    expect(findJsonExcess(list(MAX_JSON_VALUES / 2 - 1))).toBeUndefined();
    expect(findJsonExcess(list(MAX_JSON_VALUES + 1))).toBe("has more than 20000 values");
  },
);

test("no ordinary value is too much", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      expect(findJsonExcess(JSON.stringify(value))).toBeUndefined();
    }),
  );
});
