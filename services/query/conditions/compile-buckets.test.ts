import { bindValues } from "@noisefloor/clickhouse/client/bound-values.ts";
import { expect, test } from "vitest";
import { facetIn, or } from "../conditions/address-set.ts";
import { compileForBuckets } from "../conditions/compile-buckets.ts";

const compile = (paths: readonly string[]) => {
  const alternatives = paths.map((path) => facetIn("path", [path]));
  const { bind } = bindValues();
  return compileForBuckets(or(alternatives), { bind, scopes: 1, isOwnSensorsOnly: false });
};

test("of alternatives of a field, each observation is compared once", () => {
  expect(compile(["/a", "/b", "/c"]).columns).toHaveLength(1);
  expect(compile(Array.from({ length: 500 }, (_, number) => `/${number}`)).columns).toHaveLength(1);
});
