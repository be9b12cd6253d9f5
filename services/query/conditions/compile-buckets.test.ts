import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { expect, test } from "vitest";
import { countMatching } from "../timeseries/queries.ts";
import { and, facet, facetIn, or } from "./address-set.ts";
import { compileForBuckets } from "./compile-buckets.ts";

const compile = (paths: readonly string[]) => {
  const alternatives = paths.map((path) => facetIn("path", [path]));
  return compileForBuckets(or(alternatives), { scopes: [GLOBAL_SCOPE], from: 0, isOwnSensorsOnly: false });
};

const ANY = { wildcard: "*" } as const;

test("of alternatives of a field, each observation is compared once", () => {
  expect(compile(["/a", "/b", "/c"]).columns).toHaveLength(1);
  expect(compile(Array.from({ length: 500 }, (_, number) => `/${number}`)).columns).toHaveLength(1);
});

test.each([
  ["ranges of ports", (number: number) => facet("port", { type: "between", from: `${number}`, before: `${number}9` })],
  ["paths", (number: number) => facetIn("path", [`/${number}`])],
  ["parts of logins", (number: number) => facet("credential", { type: "matches", pattern: [`r/${number}`, ANY] })],
])("500 conditions on %s are less SQL and fewer values than the server takes", (_, condition) => {
  const conditions = Array.from({ length: 500 }, (_, number) => condition(number));
  const compiled = compileForBuckets(and(conditions), { scopes: [GLOBAL_SCOPE], from: 0, isOwnSensorsOnly: false });
  expect(Buffer.byteLength(countMatching(compiled).sql)).toBeLessThan(2 ** 17);
  expect(Object.keys(compiled.params).length).toBeLessThan(980);
});
