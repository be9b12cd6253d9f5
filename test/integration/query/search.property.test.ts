import { removeObservations } from "@noisefloor/clickhouse/rollups/remove-observations.ts";
import { readQuery } from "@noisefloor/domain/query-language/read-query.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import {
  ACTOR_NETWORK,
  type Marked,
  makeMarked,
  makeScopes,
  onlyIn,
  SERVICE_NETWORK,
  toWire,
} from "../../support/builders/marked-observations.ts";
import { networkList } from "../../support/builders/network-list.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { type QueryWords, randomQuery } from "../../support/builders/search-query.ts";
import type { Known } from "../../support/oracle/address-oracle.ts";
import { matching, matchingBySpan } from "../../support/oracle/search-oracle.ts";
import { atVolume } from "../../support/volume.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const NOW = Date.now();
const WORKSPACE = "team";
const SCOPES = makeScopes([WORKSPACE, "others"]);
const QUERIES = atVolume(5, 100);
const OBSERVATIONS = atVolume(400, 4_000);
/** A query has up to some dozens of conditions. */
const TIMEOUT_MS = 600_000;
const ACTOR = "Operator of census";

const TAGS = [
  ...Array.from({ length: 6 }, (_, index) =>
    makeTag(`everywhere-${index}`, INTENTIONS[index % INTENTIONS.length] ?? "unknown", {
      name: `Everywhere Scanner ${index}`,
      cves: index % 2 === 0 ? [`CVE-2026-${1_000 + index}`] : [],
    }),
  ),
  ...SCOPES.map((scope) => makeTag(onlyIn(scope), "suspicious")),
];
const ODD_PATHS = ["/Wp-Login.php", "/100%_sure", "/a\\b?c=*", "/ÄÖ/Straße", "/two\nlines", '/"quoted"'];
const ODD_AGENTS = ["Mozilla/5.0 (X11; Ubuntu)", "masscan/1.3", "ИНДЕКС Робот 2"];

/** Some texts with signs that mean something in a query, in SQL or in a pattern. */
function withOddTexts(random: Random, one: Marked): Marked {
  return {
    ...one,
    ...(random.chance(0.4) ? { path: random.pick(ODD_PATHS), method: random.pick(["GET", "Post"]) } : {}),
    ...(random.chance(0.3)
      ? { userAgent: random.pick(ODD_AGENTS), organization: random.pick(["Example, Inc.", "EXAMPLE Hosting Ltd"]) }
      : {}),
  };
}

const countSchema = z.object({ count: z.int(), adjusted_query: z.string() });
const pageSchema = z.object({
  data: z.array(z.object({ ip: z.string() })),
  request_metadata: z.object({ count: z.int(), scroll: z.string(), complete: z.boolean() }),
});
const ipsSchema = z.object({ ips: z.array(z.string()), request_metadata: z.object({ count: z.int() }) });

let world: World;
let seen: Marked[];
/** Keys of the same workspace, by whether it may know all sensors. */
let keys: { readonly isEntitled: boolean; readonly key: string }[];

beforeAll(async () => {
  const random = seeded(7);
  world = await createWorld(() => NOW);
  await world.addTags(TAGS);
  await world.replaceNetworks("actor", [networkList("census", [ACTOR_NETWORK], { name: ACTOR })]);
  await world.replaceNetworks("service", [
    networkList("cloud", [SERVICE_NETWORK], { trustLevel: "2" }),
    networkList("resolver", ["45.1.0.8/30"], { trustLevel: "1" }),
  ]);
  keys = [
    { isEntitled: false, key: await world.addCaller("unlimited", ["community_dataset"], WORKSPACE) },
    { isEntitled: true, key: await world.addCaller("unlimited", ["community_dataset", "sensors"], "others") },
  ];
  seen = makeMarked(random, { scopes: SCOPES, tags: TAGS, count: OBSERVATIONS, now: NOW }).map((one) =>
    withOddTexts(random, one),
  );
  const wire = seen.map(toWire);
  const queue = random.shuffle([...wire, ...wire.filter(() => random.chance(0.3))]);
  while (queue.length > 0) {
    const { rejected } = await world.store(queue.splice(0, random.int(1, 500)));
    expect(rejected).toEqual([]);
  }
});
afterAll(() => world.close());

const serviceOf = (ip: string) => {
  if (!ip.startsWith("45.1.0.")) return undefined;
  const isResolver = Number(ip.split(".")[3]) >= 8 && Number(ip.split(".")[3]) < 12;
  const nothing = { category: "", name: "", description: "", explanation: "", last_updated: "", reference: "" };
  return { ...nothing, trust_level: isResolver ? "1" : "2" };
};

async function read<T>(schema: z.ZodType<T>, path: string, parameters: Record<string, string>, key: string) {
  const { status, body } = await world.get(`${path}?${new URLSearchParams(parameters)}`, { key });
  expect(status, `${JSON.stringify(parameters)}: ${JSON.stringify(body).slice(0, 400)}`).toBe(200);
  return schema.parse(body);
}

const numberOf = (ip: string) => ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

type MakeQuery = (random: Random, words: QueryWords) => string;
const nested: MakeQuery = (random, words) => randomQuery(random, words, 4);
/** Has so many conditions that a search reads those of one table together. */
const long: MakeQuery = (random, words) =>
  Array.from({ length: 30 }, () => `(${randomQuery(random, words, 0)} ${randomQuery(random, words, 0)})`).join(" OR ");

async function expectAnswers(random: Random, queries: number, stored: readonly Marked[], makeQuery = nested) {
  let found = 0;
  for (let count = 0; count < queries; count++) {
    const datasets = random.pick([
      ["global"],
      ["global"],
      ["community", "personal"],
      ["global", "community", "personal"],
    ]);
    const days = random.chance(0.4) ? random.pick([1, 2, 7, 30, 90]) : undefined;
    const { isEntitled, key } = random.pick(keys);
    const workspace = isEntitled ? "others" : WORKSPACE;
    const from = days === undefined ? Number.NEGATIVE_INFINITY : Math.ceil(NOW / HOUR) * HOUR - days * DAY;
    const visible = stored.filter(
      ({ dataset, workspaceId, at }) =>
        datasets.includes(dataset) && (dataset !== "personal" || workspaceId === workspace) && at >= from,
    );
    const words = { seen: stored, tags: TAGS, actors: [ACTOR, "Operator of nothing"], now: NOW };
    const query = makeQuery(random, words);
    const tree = readQuery(query, NOW);
    if (!("query" in tree)) throw new Error(`${query}: ${JSON.stringify(tree.errors)}`);
    const known: Known = {
      seen: visible,
      tags: TAGS,
      serviceOf,
      actorOf: (ip) => (ip.startsWith("45.2.0.") ? ACTOR : undefined),
    };
    // Sensors of shared datasets are not for all to know.
    const expected = matching(tree.query, known, (one) => isEntitled || one.dataset === "personal");
    const parameters = {
      query,
      ...(datasets.length === 1 ? {} : { workspace_labels: datasets.join(",") }),
      ...(days === undefined ? {} : { days: String(days) }),
    };
    const context = JSON.stringify(parameters);
    const counted = await read(countSchema, "/v3/gnql/count", parameters, key);
    const { ips } = await read(ipsSchema, "/v3/gnql/ips", parameters, key);
    expect([...ips].sort(), context).toEqual([...expected].sort());
    expect(counted, context).toEqual({ count: expected.length, adjusted_query: "" });
    const lastSeen = (ip: string) => Math.max(...visible.filter((one) => one.ip === ip).map(({ at }) => at));
    const latestFirst = expected.toSorted((a, b) => lastSeen(b) - lastSeen(a) || numberOf(a) - numberOf(b));
    expect(ips, context).toEqual(latestFirst);
    if (count % 5 === 0) await expectPages(parameters, key, expected, random.pick([1, 7, 10_000]));
    if (count % 5 === 1) await expectValues(parameters, key, new Set(expected), visible);
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
    const { data, request_metadata } = await read(pageSchema, "/v3/gnql", asked, key);
    listed.push(...data.map(({ ip }) => ip));
    expect(request_metadata.count).toBe(expected.length);
    expect(request_metadata.complete).toBe(listed.length === expected.length);
    expect(request_metadata.scroll === "").toBe(request_metadata.complete);
    if (request_metadata.complete) break;
    scroll = request_metadata.scroll;
  }
  expect(listed).toEqual(inOrder.slice(0, listed.length));
}

const values = z.array(z.object({ value: z.string(), count: z.int() }));
const valuesSchema = z.object({
  count: z.int(),
  values: z.object({
    ports: z.array(z.object({ port: z.int(), protocol: z.string(), count: z.int() })),
    paths: values,
    useragents: values,
    ja3: values,
    ja4: values,
    hassh: values,
  }),
});

/** What the matching addresses did, by brute force: most first, ties by value. */
async function expectValues(
  parameters: Record<string, string>,
  key: string,
  expected: ReadonlySet<string>,
  visible: readonly Marked[],
) {
  const limit = 5;
  const tally = (textOf: (one: Marked) => string | undefined) => {
    const addresses = new Map<string, Set<string>>();
    for (const one of visible.filter(({ ip }) => expected.has(ip))) {
      const value = textOf(one)?.toLowerCase();
      if (value !== undefined) addresses.set(value, (addresses.get(value) ?? new Set()).add(one.ip));
    }
    return [...addresses]
      .map(([value, ips]) => ({ value, count: ips.size }))
      .sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1))
      .slice(0, limit);
  };
  const ports = tally(({ port, transport = "" }) =>
    port === undefined ? undefined : `${String(port).padStart(5, "0")}/${transport}`,
  );
  const found = await read(valuesSchema, "/v3/gnql/values", { ...parameters, count: String(limit) }, key);
  expect(found, JSON.stringify(parameters)).toEqual({
    count: expected.size,
    values: {
      ports: ports.map(({ value, count }) => ({ port: Number(value.slice(0, 5)), protocol: value.slice(6), count })),
      paths: tally(({ path }) => path),
      useragents: tally(({ userAgent }) => userAgent),
      ja3: tally(({ ja3 }) => ja3),
      ja4: tally(({ ja4 }) => ja4),
      hassh: tally(({ hassh }) => hassh),
    },
  });
}

const timeseriesStatsSchema = z.object({
  count: z.int(),
  min: z.int(),
  max: z.int(),
  data: z.array(z.object({ date: z.string(), count: z.int() })),
});
const timeseriesSchema = z.record(
  z.string(),
  z.array(
    z.object({
      ip: z.string(),
      internet_scanner_intelligence: z.object({
        tags: z.array(z.string()),
        classification: z.string(),
        metadata: z.object({ sensor_hits: z.int() }),
      }),
    }),
  ),
);

async function expectSeries(random: Random, queries: number) {
  let found = 0;
  for (let count = 0; count < queries; count++) {
    const datasets = random.pick([["global"], ["global"], ["global", "community", "personal"]]);
    const { isEntitled, key } = random.pick(keys);
    const workspace = isEntitled ? "others" : WORKSPACE;
    const words = { seen, tags: TAGS, actors: [ACTOR], now: NOW };
    const query = randomQuery(random, words, random.int(0, 3));
    const tree = readQuery(query, NOW);
    if (!("query" in tree)) throw new Error(`${query}: ${JSON.stringify(tree.errors)}`);
    const interval = random.pick(["hour", "day"] as const);
    const width = interval === "hour" ? HOUR : DAY;
    const end = NOW - random.int(0, 2 * DAY);
    const start = end - random.int(1, 3 * DAY);
    const spans: { start: number; end: number }[] = [];
    const lastEnd = Math.ceil(end / HOUR) * HOUR;
    for (let at = Math.floor(start / HOUR) * HOUR; at < lastEnd; at += width) {
      spans.push({ start: at, end: Math.min(at + width, lastEnd) });
    }
    const known: Known = {
      seen: seen.filter(
        ({ dataset, workspaceId }) =>
          datasets.includes(dataset) && (dataset !== "personal" || workspaceId === workspace),
      ),
      tags: TAGS,
      serviceOf,
      actorOf: (ip) => (ip.startsWith("45.2.0.") ? ACTOR : undefined),
    };
    const mayKnow = (one: Marked) => isEntitled || one.dataset === "personal";
    const expected = matchingBySpan(tree.query, known, mayKnow, spans);
    const counts = expected.map(({ length }) => length);
    const parameters = {
      query,
      start: new Date(start).toISOString(),
      end: new Date(end).toISOString(),
      ...(datasets.length === 1 ? {} : { workspace_labels: datasets.join(",") }),
    };
    const context = JSON.stringify({ ...parameters, interval });
    const stats = await read(timeseriesStatsSchema, "/v3/gnql/timeseries/stats", { ...parameters, interval }, key);
    const dates = spans.map((span) => new Date(span.start).toISOString().slice(0, 23).replace("T", " "));
    expect(stats, context).toEqual({
      count: counts.reduce((sum, one) => sum + one, 0),
      min: Math.min(...counts),
      max: Math.max(...counts),
      data: dates.map((date, index) => ({ date, count: counts[index] })),
    });
    if (interval === "hour") await expectHours(parameters, key, known.seen, expected, spans, random);
    found += stats.count;
  }
  expect(found).toBeGreaterThan(queries);
}

/** The rows of all hours, page by page. */
async function expectHours(
  parameters: Record<string, string>,
  key: string,
  visible: readonly Marked[],
  expected: readonly string[][],
  spans: readonly { readonly start: number; readonly end: number }[],
  random: Random,
) {
  const all = expected.flatMap((ips, index) =>
    ips
      .toSorted((one, other) => numberOf(one) - numberOf(other))
      .map((ip) => ({
        hour: new Date(spans[index]?.start ?? 0).toISOString().slice(0, 13).replace("T", "-"),
        ip,
        index,
      })),
  );
  const limit = random.pick([1, 5, 1_000]);
  const offset = random.int(0, Math.max(0, all.length - 1));
  const page = { ...parameters, limit: String(limit), offset: String(offset) };
  const hours = await read(timeseriesSchema, "/v3/gnql/timeseries", page, key);
  const listed = Object.entries(hours).flatMap(([hour, rows]) => rows.map((row) => ({ hour, row })));
  const wanted = all.slice(offset, offset + limit);
  expect(listed.map(({ hour, row }) => [hour, row.ip])).toEqual(wanted.map(({ hour, ip }) => [hour, ip]));
  for (const [position, { ip, index }] of wanted.entries()) {
    const span = spans[index] ?? { start: 0, end: 0 };
    const done = visible.filter((one) => one.ip === ip && one.at >= span.start && one.at < span.end);
    const names = TAGS.filter(({ id }) => done.some(({ tagIds }) => tagIds.includes(id))).map(({ name }) => name);
    const row = listed[position]?.row.internet_scanner_intelligence;
    expect([...(row?.tags ?? [])].sort()).toEqual(names.sort());
    expect(row?.metadata.sensor_hits).toBe(done.length);
  }
}

test("random queries match the oracle's addresses in each hour and each day", { timeout: TIMEOUT_MS }, () =>
  expectSeries(seeded(3), QUERIES),
);

test("random queries find the oracle's addresses, in all scopes and days", { timeout: TIMEOUT_MS }, () =>
  expectAnswers(seeded(1), QUERIES, seen),
);

test("queries of dozens of different conditions find the oracle's addresses, too", { timeout: TIMEOUT_MS }, () =>
  expectAnswers(seeded(3), Math.ceil(QUERIES / 8), seen, long),
);

test("after observations are removed, they find what is left", { timeout: TIMEOUT_MS }, async () => {
  const sensor = "roaming";
  await removeObservations(world.client, { sensors: [sensor] });
  await expectAnswers(
    seeded(2),
    atVolume(3, 25),
    seen.filter(({ sensorId }) => sensorId !== sensor),
  );
});
