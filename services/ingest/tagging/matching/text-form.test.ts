import { expect, test } from "vitest";
import { toForm } from "./text-form.ts";

test("a text is decoded once, and once more where an encoded character remains", () => {
  expect(toForm("/%2E%2e/ETC", "normal", true)).toBe("/../etc");
  expect(toForm("/%252e/a", "normal", true)).toBe("/./a");
  expect(toForm("/%25252e/a", "normal", true)).toBe("/%2e/a");
  expect(toForm("/%c3%89t%C3%A9", "normal", true)).toBe("/été");
});

test("what is not encoded well stays, or becomes the character for what is unreadable", () => {
  expect(toForm("100%/%zz%4", "normal", true)).toBe("100%/%zz%4");
  expect(toForm("/%ff%41", "normal", true)).toBe("/\u{fffd}a");
});

test("cased keeps the case, raw the encoding, and both together everything", () => {
  expect(toForm("/%41B", "cased", true)).toBe("/AB");
  expect(toForm("/%41B", "raw", true)).toBe("/%41b");
  expect(toForm("/%41B", "raw-cased", true)).toBe("/%41B");
  expect(toForm("/%41B", "normal", false)).toBe("/%41b");
});
