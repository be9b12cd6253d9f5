import { readQuery } from "@noisefloor/domain/query-language/read-query.ts";
import { expect, test } from "vitest";
import { EXAMPLES } from "./examples.tsx";

test.each(EXAMPLES)("the example %s is a query", (query) => {
  expect(readQuery(query, Date.now())).toHaveProperty("query");
});
