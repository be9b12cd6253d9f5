import { readQuery } from "@noisefloor/domain/query-language/read-query.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { type Marked, makeMarked, makeScopes, onlyIn, toWire } from "../../support/builders/marked-observations.ts";
import { addressOf } from "../../support/builders/observation.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { type QueryWords, randomQuery } from "../../support/builders/search-query.ts";
import { matching } from "../../support/oracle/search-oracle.ts";
import { atVolume } from "../../support/volume.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const DAY = 24 * 60 * 60 * 1000;
const NOW = Date.now();
/** The reach of the plan `standard`; observations are up to 90 days old. */
const REACH_DAYS = 30;
const QUERIES = atVolume(12, 150);
const SCOPES = makeScopes([]);
const TAGS = [
  ...INTENTIONS.map((intention, index) =>
    makeTag(`everywhere-${index}`, intention, { cves: [`CVE-2026-${1_000 + index}`] }),
  ),
  ...SCOPES.map((scope) => makeTag(onlyIn(scope), "suspicious")),
];
const PATHS = Array.from({ length: 8 }, (_, number) => `/path-${number}`);

let world: World;
let seen: Marked[];
let key: string;

beforeAll(async () => {
  const random = seeded(11);
  world = await createWorld(() => NOW);
  await world.addTags(TAGS);
  key = await world.addCaller("standard", ["sensors"]);
  // Few addresses, each on several days: most have rows before and since the reach.
  seen = makeMarked(random, { scopes: SCOPES, tags: TAGS, count: atVolume(500, 3_000), now: NOW })
    .filter(({ dataset }) => dataset === "global")
    .map((one) => ({ ...one, ip: addressOf(random.int(0, atVolume(120, 720))), path: random.pick(PATHS) }));
  const queue = seen.map(toWire);
  // In several parts, which the server merges at any time.
  while (queue.length > 0) await world.store(queue.splice(0, 50));
});
afterAll(() => world.close());

const pathQuery = (random: Random) => {
  const path = () => `path:${random.pick(PATHS)}`;
  return random.pick([
    path,
    () => `${path()} ${path()}`,
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
};

const answerSchema = z.object({ count: z.int(), adjusted_query: z.string() });

async function expectInReach(query: string) {
  const tree = readQuery(query, NOW);
  if (!("query" in tree)) throw new Error(`${query}: ${JSON.stringify(tree.errors)}`);
  const known = { seen, tags: TAGS, serviceOf: () => undefined, actorOf: () => undefined };
  const all = matching(tree.query, known, () => true);
  const reached = new Set(seen.flatMap(({ ip, at }) => (at >= NOW - REACH_DAYS * DAY ? [ip] : [])));
  const expected = all.filter((ip) => reached.has(ip));
  const get = (path: string) => world.get(`/v3/gnql${path}?${new URLSearchParams({ query })}`, { key });
  const { status, body } = await get("/count");
  expect({ query, status, ...answerSchema.parse(body) }).toEqual({
    query,
    status: expected.length < all.length ? 206 : 200,
    count: expected.length,
    adjusted_query: expected.length < all.length ? `(${query}) last_seen:${REACH_DAYS}d` : "",
  });
  const statistics = await get("/stats");
  expect(statistics.body, query).toMatchObject({ count: expected.length });
  return { matched: all.length, expected: expected.length };
}

test("a plan finds of random queries what the oracle finds that was seen within its reach", async () => {
  const random = seeded(5);
  const words: QueryWords = { seen, tags: TAGS, actors: ["Operator of nothing"], now: NOW };
  let lost = 0;
  for (let count = 0; count < QUERIES; count++) {
    const isOfPaths = random.chance(0.6);
    const query = isOfPaths ? pathQuery(random) : randomQuery(random, words, random.int(0, 3));
    const { matched, expected } = await expectInReach(query);
    lost += matched - expected;
  }
  expect(lost).toBeGreaterThan(QUERIES);
}, 600_000);

test("the addresses themselves are those within the reach", async () => {
  const query = "path:/path-1";
  const { body } = await world.get(`/v3/gnql/ips?${new URLSearchParams({ query })}`, { key });
  const last = new Map<string, number>();
  for (const { ip, at } of seen) last.set(ip, Math.max(at, last.get(ip) ?? 0));
  const expected = new Set(
    seen.flatMap(({ ip, path }) => (path === "/path-1" && (last.get(ip) ?? 0) >= NOW - REACH_DAYS * DAY ? [ip] : [])),
  );
  expect([...z.object({ ips: z.array(z.string()) }).parse(body).ips].sort()).toEqual([...expected].sort());
});
