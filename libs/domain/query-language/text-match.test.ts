import fc from "fast-check";
import { expect, test } from "vitest";
import type { Pattern } from "./query.ts";
import { patternMatcher } from "./text-match.ts";

const part = fc.oneof(
  fc.constantFrom("a", "b", "ab"),
  fc.constantFrom("*" as const, "?" as const).map((wildcard) => ({ wildcard })),
);

test("a pattern matches what the same regular expression matches", () => {
  const toExpression = (pattern: Pattern) =>
    pattern.map((one) => (typeof one === "string" ? one : one.wildcard === "*" ? "[^]*" : "[^]")).join("");
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 8 }),
      fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 12 }),
      (pattern, text) => {
        expect(patternMatcher(pattern)([...text])).toBe(new RegExp(`^${toExpression(pattern)}$`).test(text));
      },
    ),
  );
});

test("many wildcards over a long text take no time", () => {
  const pattern = Array.from({ length: 1_000 }, (_, n) => (n % 2 === 0 ? { wildcard: "*" as const } : "a"));
  const before = process.cpuUsage();
  expect(patternMatcher([...pattern, "b"])([..."a".repeat(8_000)])).toBe(false);
  const { user } = process.cpuUsage(before);
  expect(user / 1_000).toBeLessThan(1_000);
});
