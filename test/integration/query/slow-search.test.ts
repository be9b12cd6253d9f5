import { reader } from "@noisefloor/clickhouse/client/query.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { and, facet, facetIn, not } from "@noisefloor/query/conditions/address-set.ts";
import { compileSearch } from "@noisefloor/query/conditions/compile-bitmaps.ts";
import { searchCounts } from "@noisefloor/query/search/queries.ts";
import { logSlow } from "@noisefloor/query/search/slow-search.ts";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

let world: World;

beforeAll(async () => {
  world = await createWorld(Date.now);
  const paths = ["/secret-a", "/secret-a", "/secret-b"];
  await world.store(paths.map((path, number) => observation(`45.0.0.${number}`, Date.now(), { http: { path } })));
});
afterAll(() => world.close());

test("a slow search logs the rows and the addresses of each condition, and no value of it", async () => {
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  const read = reader(world.client, { maxSeconds: 60 });
  const query = and([
    facetIn("path", ["/secret-a"]),
    facet("user_agent", { type: "words", words: ["secret"] }),
    not(facet("path", { type: "matches", pattern: ["/secret-", { wildcard: "*" }] })),
  ]);
  const compiled = compileSearch(query, { scopes: [GLOBAL_SCOPE], from: 0, isOwnSensorsOnly: false });
  await logSlow(read, compiled, log, 60_000)(searchCounts(compiled), compiled.params);
  expect(lines).toEqual([]);
  await logSlow(read, compiled, log, 0)(searchCounts(compiled), compiled.params);
  await eventually(async () => expect(lines).toHaveLength(1));
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    msg: "slow search",
    query: "search-counts",
    conditions: [
      { condition: "path in 1 texts", rows: 2, addresses: 2 },
      { condition: "user_agent words", rows: 0, addresses: 0 },
      { condition: "path matches", rows: 3, addresses: 3 },
    ],
  });
  expect(lines[0]).not.toContain("secret");
});
