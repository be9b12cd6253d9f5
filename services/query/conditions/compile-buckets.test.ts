import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { expect, test } from "vitest";
import { facetIn, or } from "./address-set.ts";
import { compileForBuckets } from "./compile-buckets.ts";

const compile = (paths: readonly string[]) => {
  const alternatives = paths.map((path) => facetIn("path", [path]));
  return compileForBuckets(or(alternatives), { scopes: [GLOBAL_SCOPE], from: 0, isOwnSensorsOnly: false });
};

test("of alternatives of a field, each observation is compared once", () => {
  expect(compile(["/a", "/b", "/c"]).columns).toHaveLength(1);
  expect(compile(Array.from({ length: 500 }, (_, number) => `/${number}`)).columns).toHaveLength(1);
});
