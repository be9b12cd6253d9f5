import fc from "fast-check";
import { expect, test } from "vitest";
import { requiredLiteral } from "./required-literal.ts";

test.each([
  ["wp-content", "wp-content"],
  ["/cgi-bin/[a-z]+\\.cgi", "/cgi-bin/"],
  ["a+bc", "bc"],
  ["(?:abc){2}", "abc"],
  ["x(?:abc)?yz", "yz"],
  ["abc*d", "ab"],
  ["ab{0,3}cd", "cd"],
  ["(abc|abd)ef", "ef"],
  ["\\$\\{jndi:(ldap|rmi)", "${jndi:"],
  ["^/Setup\\.php$", "/setup.php"],
  ["[x\\]]y[[:alpha:]]z", "y"],
  ["(?s)abc", "abc"],
  ["é+tude", "tude"],
])("%s cannot match without %s", (pattern, literal) => {
  expect(requiredLiteral(pattern, false)).toBe(literal);
});

test.each(["abc|def", "[a-z]+", "(abc)?", "a*", "\\x41bc", "\\Qa.b\\E", "(?P<a", "\\101"])(
  "of %s no text is certain",
  (pattern) => {
    expect(requiredLiteral(pattern, false)).toBe("");
  },
);

test("where case counts, a flag against it makes no text certain", () => {
  expect(requiredLiteral("ABC", true)).toBe("ABC");
  expect(requiredLiteral("(?i)ABC", true)).toBe("");
  expect(requiredLiteral("x(?i:ABC)", true)).toBe("");
});

test("whatever matches contains the text", () => {
  const atom = fc.constantFrom("a", "b", "c", "ab", "\\.", ".", "[ab]", "[^a]", "\\w");
  const repeat = fc.constantFrom("", "", "", "?", "*", "+", "{2}", "{0,1}", "*?");
  const { pattern } = fc.letrec<{ pattern: string; piece: string }>((tie) => ({
    piece: fc.oneof(
      { maxDepth: 3 },
      fc.tuple(atom, repeat).map((parts) => parts.join("")),
      fc.tuple(tie("pattern"), repeat).map(([inner, times]) => `(${inner})${times}`),
      fc.tuple(tie("pattern"), tie("pattern")).map(([one, two]) => `(?:${one}|${two})`),
    ),
    pattern: fc.array(tie("piece"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
  }));
  const texts = fc.array(fc.constantFrom("a", "b", "c", "."), { maxLength: 10 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(pattern, fc.array(texts, { minLength: 20, maxLength: 20 }), (source, samples) => {
      const literal = requiredLiteral(source, false);
      const regex = new RegExp(source);
      for (const sample of samples) if (regex.test(sample)) expect(sample).toContain(literal);
    }),
    { numRuns: 300 },
  );
});
