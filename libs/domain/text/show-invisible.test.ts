import { expect, test } from "vitest";
import { cut, showInvisible } from "./show-invisible.ts";

test("characters that hide or turn text around are shown by their numbers, all others stay", () => {
  expect(showInvisible("/\u202egpj.exe\u2066\u200b\u0007\n\u2028\ud800")).toBe(
    "/\\u{202e}gpj.exe\\u{2066}\\u{200b}\\u{7}\\u{a}\\u{2028}\\u{d800}",
  );
  expect(showInvisible("naïve 日本 😀 <b>")).toBe("naïve 日本 😀 <b>");
});

test("a cut text has no more than the characters asked for, none of them halved", () => {
  expect(cut("abc", 3)).toBe("abc");
  expect(cut("abcd", 3)).toBe("abc…");
  expect(cut("😀😀😀", 3)).toBe("😀😀😀");
  expect(cut("😀😀😀😀", 3)).toBe("😀😀😀…");
});
