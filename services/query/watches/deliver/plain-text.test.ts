import fc from "fast-check";
import { expect, test } from "vitest";
import { plainLine } from "./plain-text.ts";

test.each([
  ["http://evil.example/a", "http[:]//evil[.]example/a"],
  ["www.evil.example", "www[.]evil[.]example"],
  ["eve@evil.example", "eve@evil[.]example"],
  ["/.env /index.php", "/.env /index[.]php"],
  ["198.51.100.7 since 10.5 s.", "198.51.100.7 since 10.5 s."],
  ["one\r\ntwo\u202e", "one\\u{d}\\u{a}two\\u{202e}"],
])("%j is shown to people as %j", (text, shown) => {
  expect(plainLine(text, 100)).toBe(shown);
});

test("whatever attackers write, it is one line without a link", () => {
  const piece = fc.constantFrom("http", "://", ".", "com", "evil", "\n", "@", "//", "\u200b", " ", "é", "e\u0301");
  const text = fc.oneof(
    fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join("")),
    fc.string({ unit: "binary" }),
  );
  fc.assert(
    fc.property(text, (written) => {
      expect(plainLine(written, 50)).not.toMatch(/:\/\/|[^\s/]\.\p{L}{2}|\p{Cc}|\p{Cf}|\u2028/u);
    }),
  );
});
