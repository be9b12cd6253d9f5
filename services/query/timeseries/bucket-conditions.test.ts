import { expect, test } from "vitest";
import { or, set } from "../search-sets/address-set.ts";
import { bindValues } from "../search-sets/bound-values.ts";
import { compileForBuckets } from "./bucket-conditions.ts";

const compile = (paths: readonly string[]) => {
  const alternatives = paths.map((path) => set({ type: "value", field: "path", match: { type: "in", texts: [path] } }));
  const { bind } = bindValues();
  return compileForBuckets(or(alternatives), { bind, scopes: 1, isOwnSensorsOnly: false });
};

test("of alternatives of a field, each observation is compared once", () => {
  expect(compile(["/a", "/b", "/c"]).columns).toHaveLength(1);
  expect(compile(Array.from({ length: 500 }, (_, number) => `/${number}`)).columns).toHaveLength(1);
});
