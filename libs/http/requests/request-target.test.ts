import { expect, test } from "vitest";
import { normalizeRequestTarget } from "./request-target.ts";

test.each([
  "/v3/tags",
  "/",
  "/v3/community/8.8.8.8?a=//b#//c",
  "/v3/tags?name=%zz",
  "/a%20b/%C3%A9",
  "http://noise.example.org/v3/tags",
  "*",
])("%s stays as it is", (target) => expect(normalizeRequestTarget(target)).toBe(target));

test.each([
  ["//v3/tags", "/v3/tags"],
  ["////v3/tags?a=1", "/v3/tags?a=1"],
  ["//", "/"],
  ["/v3/feeds/edge/misp//manifest.json", "/v3/feeds/edge/misp/manifest.json"],
  ["//v3///feeds//edge.txt?since=a//b", "/v3/feeds/edge.txt?since=a//b"],
])("the doubled slashes in the path of %s are one", (target, normalized) =>
  expect(normalizeRequestTarget(target)).toBe(normalized),
);

test.each([
  ["/v3/community/%zz", "%zz"],
  ["/v3/community/%", "%"],
  ["/v3/community/8.8.8.8%", "8.8.8.8%"],
  ["/v3/community/%41%ff?a=%ff", "%41%ff"],
  ["/v3/%63ommunity/%c3%28", "%c3%28"],
  ["/v3/community/%ed%a0%80#a", "%ed%a0%80"],
])("in %s the address is the text %s", (target, text) => {
  const path = normalizeRequestTarget(target).split(/[?#]/)[0] ?? "";
  expect(decodeURIComponent(path)).toBe(`/v3/community/${text}`);
});
