import { expect, test } from "vitest";
import { webUrl } from "./web-url.ts";

test("only addresses of the web become links", () => {
  expect(webUrl("https://example.org/?a=<b>")).toBe("https://example.org/?a=%3Cb%3E");
  for (const text of ["javascript:alert(1)", " https://x", "data:text/html,x", "//evil.example", "https://"]) {
    expect([text, webUrl(text)]).toEqual([text, undefined]);
  }
});
