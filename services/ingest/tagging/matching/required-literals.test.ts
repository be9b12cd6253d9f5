import fc from "fast-check";
import { expect, test } from "vitest";
import { compileRegex } from "./regex.ts";
import { requiredLiterals } from "./required-literals.ts";

test.each([
  ["wp-content", "wp-content"],
  ["/cgi-bin/[a-z]+\\.cgi", "/cgi-bin/"],
  ["a+bc", "bc"],
  ["(?:abc){2}", "abc"],
  ["x(?:abc)?yz", "yz"],
  ["abc*d", "ab"],
  ["ab{0,3}cd", "cd"],
  ["(abc|b)def", "def"],
  ["\\$\\{jndi:(ldap|rmi)", "${jndi:"],
  ["^/Setup\\.php$", "/setup.php"],
  ["[x\\]]y[[:alpha:]]z", "y"],
  ["(?s)abc", "abc"],
  ["é+tude", "tude"],
  ["echo -[en]+ \\\\x41", "echo -"],
])("%s cannot match without %s", (pattern, literal) => {
  expect(requiredLiterals(pattern, false)).toEqual([literal]);
});

test.each(["abc|d*", "abc|[0-9]", "[a-z]+", "(abc)?", "a*", "\\x41bc", "\\Qa.b\\E", "(?P<a", "\\101"])(
  "of %s no text is certain",
  (pattern) => {
    expect(requiredLiterals(pattern, false)).toEqual([]);
  },
);

test("of several alternatives, each match contains what one of them requires", () => {
  expect(requiredLiterals("abc|def", false)).toEqual(["abc", "def"]);
  expect(requiredLiterals("[;&](?:wget|curl +-o|tftp)[ +]", false)).toEqual(["wget", "curl ", "tftp"]);
  expect(requiredLiterals("a(b|c)", false)).toEqual(["a"]);
  expect(requiredLiterals("[;|`$]", false)).toEqual([";", "|", "`", "$"]);
  expect(requiredLiterals("[;|]?", false)).toEqual([]);
});

test("where case counts, a flag against it makes no text certain", () => {
  expect(requiredLiterals("ABC", true)).toEqual(["ABC"]);
  expect(requiredLiterals("(?i)ABC", true)).toEqual([]);
  expect(requiredLiterals("x(?i:ABC)", true)).toEqual([]);
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
      // Not by JavaScript's own regular expressions: they take minutes for some of these, as they backtrack.
      const regex = compileRegex(source, false);
      if (typeof regex === "string") expect.fail(regex);
      if (regex.literals.length === 0) return;
      for (const sample of samples)
        if (regex.matches(sample)) expect(regex.literals.some((one) => sample.includes(one))).toBe(true);
    }),
    { numRuns: 300 },
  );
});
