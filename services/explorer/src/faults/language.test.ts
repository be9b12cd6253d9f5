import { expect, test } from "vitest";
import { usableLanguage } from "./language.ts";

test("the browser's languages are tried in their order, and English is there when none is one", () => {
  expect(usableLanguage(["de-CH", "en"])).toBe("de-CH");
  expect(usableLanguage(["en-US@posix", "", "fr_FR", "de", "en"])).toBe("de");
  expect(usableLanguage(["C", "en-US@posix"])).toBe("en");
  expect(usableLanguage([])).toBe("en");
});
