import { expect, test } from "vitest";
import { formatQueryErrors } from "./query-error.ts";

test("each error stands below the query, with its part of it underlined", () => {
  const query = "port:22 clasification:malicious port:x";
  const errors = [
    { message: 'no field is called "clasification"', position: 8, length: 13 },
    { message: '"x" does not fit', position: 37, length: 1 },
  ];
  expect(formatQueryErrors(query, errors)?.split("\n")).toEqual([
    "the query cannot be run",
    "  port:22 clasification:malicious port:x",
    "          ^^^^^^^^^^^^^",
    '  no field is called "clasification"',
    "  port:22 clasification:malicious port:x",
    "                                       ^",
    '  "x" does not fit',
  ]);
});

test("an error at the end of a query, and one within a long query with control characters, stand below their place", () => {
  const [, line = "", mark = ""] =
    formatQueryErrors("port:22 AND", [{ message: "a condition is missing", position: 11, length: 0 }])?.split("\n") ??
    [];
  expect(mark.indexOf("^")).toBe(line.length);
  const long = `${"port:22 ".repeat(50)}\u001b[2J~ ${"port:22 ".repeat(50)}`;
  const [, shown = "", under = ""] =
    formatQueryErrors(long, [{ message: "no", position: long.indexOf("~"), length: 1 }])?.split("\n") ?? [];
  expect(shown.charAt(under.indexOf("^"))).toBe("~");
  expect(shown).not.toContain("\u001b");
  expect(shown.length).toBeLessThan(200);
});

test("any other 400 has no such errors", () => {
  expect(formatQueryErrors("port:22", undefined)).toBeUndefined();
  expect(formatQueryErrors("port:22", [])).toBeUndefined();
});
