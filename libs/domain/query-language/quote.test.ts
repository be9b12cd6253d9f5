import fc from "fast-check";
import { expect, test } from "vitest";
import { quote } from "./query.ts";
import { readQuery } from "./read-query.ts";

test("a quoted text is a value that stands for itself", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (text) => {
      const query = { type: "equals", field: "path", text: text.toLowerCase() };
      expect(readQuery(`path:${quote(text)}`, 0)).toEqual({ query, warnings: [], unquoted: [] });
    }),
  );
});

test("a star in it is no wildcard, also where the field takes words", () => {
  const query = { type: "words", field: "user_agent", words: ["a", "b"] };
  expect(readQuery(`useragent:${quote("a * b")}`, 0)).toMatchObject({ query });
});
