import { removeObservations } from "@noisefloor/clickhouse/rollups/remove-observations.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import type { Marked } from "../../support/builders/marked-observations.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { type QueryWords, quoted, randomQuery } from "../../support/builders/search-query.ts";
import { expectedStats, expectedValues } from "../../support/oracle/search-summaries.ts";
import {
  CONDITIONS,
  DATASETS,
  DAY,
  HOUR,
  knownIn,
  matchingOf,
  NOW,
  numberOf,
  ODD_PATHS,
  openSearchWorld,
  SEEN,
  type SearchWorld,
  TAGS,
  wordsOf,
} from "../../support/query/search-world.ts";
import { atVolume } from "../../support/volume.ts";

const QUERIES = atVolume(5, 100);
/** A query has up to some dozens of conditions. */
const TIMEOUT_MS = 600_000;
/** The reach of the plan `standard`; observations are up to 90 days old. */
const REACH_DAYS = 30;

const countSchema = z.object({ count: z.int(), adjusted_query: z.string() });
const pageSchema = z.object({
  data: z.array(z.object({ ip: z.string() })),
  request_metadata: z.object({ count: z.int(), scroll: z.string(), complete: z.boolean() }),
});
const ipsSchema = z.object({ ips: z.array(z.string()), request_metadata: z.object({ count: z.int() }) });

let searched: SearchWorld;
beforeAll(async () => {
  searched = await openSearchWorld();
});
afterAll(() => searched.world.close());

type MakeQuery = (random: Random, words: QueryWords) => string;
const nested: MakeQuery = (random, words) => randomQuery(random, words, 4);
/** Has so many conditions that a search reads those of one table together. */
const long: MakeQuery = (random, words) =>
  Array.from({ length: 30 }, () => `(${randomQuery(random, words, 0)} ${randomQuery(random, words, 0)})`).join(" OR ");

/** Some with conditions that addresses meet by what they did before the reach and since. */
function pathQuery(random: Random): string {
  const path = () => `path:${quoted(random.pick(ODD_PATHS))}`;
  return random.pick([
    path,
    () => `${path()} OR ${path()} useragent:x`,
    () => `NOT ${path()}`,
    () => `${path()} NOT (${path()} OR ${path()})`,
    () => `(${path()} OR last_seen:7d) ${path()}`,
    () => `${path()} last_seen:20d`,
    () => `${path()} last_seen:<40d`,
    () => "*",
    () => `${path()} NOT *`,
    () => `${path()} OR ja3:*`,
    () => `(${path()} OR ${path()}) tags:${random.pick(TAGS).slug}`,
  ])();
}

/** A search by one of the callers in random datasets and days, and what it must find. */
function makeSearch(random: Random, query: string, stored: readonly Marked[]) {
  const datasets = random.pick([["global"], ["global"], DATASETS.slice(1), DATASETS]);
  const days = random.chance(0.4) ? random.pick([1, 2, 7, 30, 90]) : undefined;
  const { isEntitled, key, workspace } = random.pick(searched.callers);
  const from = days === undefined ? Number.NEGATIVE_INFINITY : Math.ceil(NOW / HOUR) * HOUR - days * DAY;
  const all = knownIn(stored, datasets, workspace);
  const known = { ...all, seen: all.seen.filter(({ at }) => at >= from) };
  const parameters = {
    query,
    ...(datasets.length === 1 ? {} : { workspace_labels: datasets.join(",") }),
    ...(days === undefined ? {} : { days: String(days) }),
  };
  return { key, parameters, known, expected: matchingOf(query, known, isEntitled) };
}

async function expectAnswers(random: Random, queries: number, stored: readonly Marked[], makeQuery = nested) {
  let found = 0;
  for (let count = 0; count < queries; count++) {
    const search = makeSearch(random, makeQuery(random, wordsOf(stored)), stored);
    const { key, parameters, known, expected } = search;
    const context = JSON.stringify(parameters);
    const counted = await searched.read(countSchema, "/v3/gnql/count", parameters, key);
    expect(counted, context).toEqual({ count: expected.length, adjusted_query: "" });
    const { ips } = await searched.read(ipsSchema, "/v3/gnql/ips", parameters, key);
    const lastSeen = (ip: string) => Math.max(...known.seen.filter((one) => one.ip === ip).map(({ at }) => at));
    const latestFirst = expected.toSorted((a, b) => lastSeen(b) - lastSeen(a) || numberOf(a) - numberOf(b));
    expect(ips, context).toEqual(latestFirst);
    if (count % 5 === 0) await expectPages(parameters, key, expected, random.pick([1, 7, 10_000]));
    if (count % 5 === 1) await expectSummaries(search);
    found += expected.length;
  }
  expect(found).toBeGreaterThan(queries);
}

/** Reads at most some pages, as each is a request. */
async function expectPages(parameters: Record<string, string>, key: string, expected: string[], size: number) {
  const inOrder = expected.toSorted((one, other) => numberOf(one) - numberOf(other));
  const listed: string[] = [];
  let scroll = "";
  for (let page = 0; page < 4; page++) {
    const asked = { ...parameters, size: String(size), quick: "true", scroll };
    const { data, request_metadata } = await searched.read(pageSchema, "/v3/gnql", asked, key);
    listed.push(...data.map(({ ip }) => ip));
    expect(request_metadata.count).toBe(expected.length);
    expect(request_metadata.complete).toBe(listed.length === expected.length);
    expect(request_metadata.scroll === "").toBe(request_metadata.complete);
    if (request_metadata.complete) break;
    scroll = request_metadata.scroll;
  }
  expect(listed).toEqual(inOrder.slice(0, listed.length));
}

const valuesSchema = z.object({ count: z.int(), values: z.record(z.string(), z.unknown()) });
const statsSchema = z.object({
  count: z.int(),
  stats: z.record(z.string(), z.array(z.looseObject({ count: z.int() }))),
});
/** The member that names an entry of a list. */
const STATS = {
  ...{
    classifications: "classification",
    spoofable: "spoofable",
    actors: "actor",
    countries: "country",
    tags: "tag",
    asns: "asn",
  },
};

/** The statistics of a search, and what its addresses did. */
async function expectSummaries({ key, parameters, known, expected }: ReturnType<typeof makeSearch>) {
  const [context, addresses, limit] = [JSON.stringify(parameters), new Set(expected), 5];
  const { count, values } = await searched.read(
    valuesSchema,
    "/v3/gnql/values",
    { ...parameters, count: String(limit) },
    key,
  );
  expect(count, context).toBe(expected.length);
  expect(values, context).toMatchObject(expectedValues(addresses, known.seen, limit));
  const { stats, ...counted } = await searched.read(
    statsSchema,
    "/v3/gnql/stats",
    { ...parameters, count: "1000" },
    key,
  );
  expect(counted, context).toEqual({ count: expected.length });
  const byName = Object.entries(STATS).map(([list, name]) => [
    list,
    Object.fromEntries((stats[list] ?? []).map((entry) => [String(entry[name]), entry.count])),
  ]);
  expect(Object.fromEntries(byName), context).toEqual(expectedStats(addresses, known));
}

test("random queries find the oracle's addresses, in all scopes and days", { timeout: TIMEOUT_MS }, () =>
  expectAnswers(seeded(1), QUERIES, SEEN),
);

test("queries of dozens of different conditions find the oracle's addresses, too", { timeout: TIMEOUT_MS }, () =>
  expectAnswers(seeded(3), Math.ceil(QUERIES / 8), SEEN, long),
);

test("a condition on any field finds the oracle's addresses", async () => {
  const [, { key, workspace }] = searched.callers;
  const known = knownIn(SEEN, DATASETS, workspace);
  for (const query of CONDITIONS.flat()) {
    const parameters = { query, workspace_labels: DATASETS.join(",") };
    const { ips } = await searched.read(ipsSchema, "/v3/gnql/ips", parameters, key);
    expect([query, ...ips.toSorted()]).toEqual([query, ...matchingOf(query, known, true).toSorted()]);
  }
});

test("the statistics of a search and what its addresses did are the oracle's", async () => {
  const random = seeded(4);
  for (const query of ["*", "NOT tags:everywhere-3 country:*", "command:uname* OR username:*"]) {
    await expectSummaries(makeSearch(random, query, SEEN));
  }
});

test("a plan finds of random queries what the oracle finds that was seen within its reach", {
  timeout: TIMEOUT_MS,
}, async () => {
  const random = seeded(5);
  const key = await searched.world.addCaller("standard", ["sensors"]);
  const known = knownIn(SEEN, ["global"], "");
  const reached = new Set(known.seen.flatMap(({ ip, at }) => (at >= NOW - REACH_DAYS * DAY ? [ip] : [])));
  let lost = 0;
  for (let count = 0; count < 2 * QUERIES; count++) {
    const query = random.chance(0.6) ? pathQuery(random) : randomQuery(random, wordsOf(SEEN), random.int(0, 3));
    const all = matchingOf(query, known, true);
    const expected = all.filter((ip) => reached.has(ip));
    const get = (path: string) => searched.world.get(`/v3/gnql${path}?${new URLSearchParams({ query })}`, { key });
    const adjusted = expected.length < all.length;
    const { status, body } = await get("/count");
    expect({ query, status, ...countSchema.parse(body) }).toEqual({
      query,
      status: adjusted ? 206 : 200,
      count: expected.length,
      adjusted_query: adjusted ? `(${query}) last_seen:${REACH_DAYS}d` : "",
    });
    expect((await get("/stats")).body, query).toMatchObject({ count: expected.length });
    expect(ipsSchema.parse((await get("/ips")).body).ips.toSorted(), query).toEqual(expected.toSorted());
    lost += all.length - expected.length;
  }
  expect(lost).toBeGreaterThan(QUERIES);
});

test("after observations are removed, they find what is left", { timeout: TIMEOUT_MS }, async () => {
  const sensor = "roaming";
  await removeObservations(searched.world.client, { sensors: [sensor] });
  const left = SEEN.filter(({ sensorId }) => sensorId !== sensor);
  await expectAnswers(seeded(2), atVolume(3, 25), left);
});
