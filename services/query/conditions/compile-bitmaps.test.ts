import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { readQuery } from "@noisefloor/domain/query-language/read-query.ts";
import { expect, test } from "vitest";
import { SEEN } from "./address-set.ts";
import { compileSearch } from "./compile-bitmaps.ts";
import { resolveQuery } from "./resolve-query.ts";

const NOW = Date.UTC(2026, 10, 20);
const names = {
  tags: [],
  networks: { hasActors: false, lists: { service: new Map(), actor: new Map() } },
};

async function compile(text: string) {
  const read = readQuery(text, NOW);
  if (!("query" in read)) throw new Error(JSON.stringify(read.errors));
  return compileSearch(await resolveQuery(read.query, names), {
    scopes: [GLOBAL_SCOPE],
    from: 0,
    isOwnSensorsOnly: false,
  });
}

test("no text of a query is in the SQL", async () => {
  const { sql, params } = await compile(`path:"x' OR 1=1 --" useragent:*sleep* rdns:evil hassh:(aa OR bb)`);
  expect(sql).not.toMatch(/x' OR|sleep|evil|aa|bb/);
  expect(Object.values(params)).toEqual(
    expect.arrayContaining(["x' or 1=1 --", "%sleep%", ["aa", "bb"], expect.stringContaining("evil")]),
  );
});

test("a condition that is repeated is read once, and so are the alternatives of a field", async () => {
  expect((await compile("port:22 (path:/a OR port:22) NOT port:22")).sets).toHaveLength(2);
  expect((await compile("path:(/a OR /b OR /c) OR path:/d")).sets).toHaveLength(1);
  expect((await compile("country:(DE OR VN) OR country:Brazil")).sets).toHaveLength(1);
  expect((await compile("path:/a path:/b")).sets).toHaveLength(2);
});

test("signs of LIKE in a path are ordinary", async () => {
  const { params } = await compile("path:/100%_a\\\\b*");
  expect(Object.values(params)).toContain("/100\\%\\_a\\\\b%");
});

test("what no address can match reads only which addresses were seen", async () => {
  expect((await compile("metadata.os:linux port:22")).sets).toEqual([SEEN]);
  expect((await compile("bot:false")).sets).toEqual([SEEN]);
});

test.each([
  ["addresses", (number: number) => `ip:9.9.${number >> 8}.${number & 255}`],
  ["ports", (number: number) => `port:>${number}`],
  ["words", (number: number) => `${number}x`],
  ["words of a field", (number: number) => `rdns:${number}`],
  ["times", (number: number) => `last_seen:${number}h`],
  ["observed values", (number: number) => `city:${number}`],
  ["numbers", (number: number) => `asn:${number}`],
])("500 conditions on %s are few SELECTs, and less SQL than the server takes", async (_, condition) => {
  const { sql, sets } = await compile(Array.from({ length: 500 }, (_, index) => condition(index + 1)).join(" "));
  expect(sets.length).toBeGreaterThanOrEqual(500);
  expect(Buffer.byteLength(sql)).toBeLessThan(2 ** 17 / 2);
  expect(sql.split("UNION ALL").length).toBeLessThan(5);
});

test("the words of hundreds of conditions are one expression for the store", async () => {
  const { sql, params } = await compile(Array.from({ length: 500 }, (_, index) => `word${index}`).join(" OR "));
  expect(sql).not.toContain("match(");
  expect(sql.match(/extractAll/g)).toHaveLength(1);
  expect(Object.keys(params)).toHaveLength(3);
});
