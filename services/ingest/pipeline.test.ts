import { expect, test } from "vitest";
import { countReasons } from "./pipeline.ts";

test("a batch without rejections has no reasons to report", () => {
  expect([...countReasons([])]).toEqual([]);
});

test("rejections are counted by their reason, whatever their details say", () => {
  const counts = countReasons([
    { rejection: { reason: "not-json", detail: "one" } },
    { rejection: { reason: "unknown-tag", detail: "two" } },
    { rejection: { reason: "not-json", detail: "three" } },
  ]);
  expect(Object.fromEntries(counts)).toEqual({ "not-json": 2, "unknown-tag": 1 });
});
