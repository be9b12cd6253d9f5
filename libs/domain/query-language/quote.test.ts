import fc from "fast-check";
import { expect, test } from "vitest";
import { quote } from "./quote.ts";
import { readQuery } from "./read-query.ts";

test("a quoted text is a value that stands for itself", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (text) => {
      const read = readQuery(`path:${quote(text)}`, 0);
      expect(read).toEqual({ query: { type: "equals", field: "path", text: text.toLowerCase() } });
    }),
  );
});
