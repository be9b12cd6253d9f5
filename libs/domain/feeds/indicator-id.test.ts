import { expect, test } from "vitest";
import { indicatorPatternOf, indicatorUuidOf } from "./indicator-id.ts";

test("an address has the same indicator everywhere and for ever", () => {
  expect(indicatorPatternOf("198.51.100.7")).toBe("[ipv4-addr:value = '198.51.100.7']");
  expect(indicatorUuidOf("198.51.100.7")).toBe("3ae0b0a2-7289-5fda-8a85-02d057ba0968");
});
