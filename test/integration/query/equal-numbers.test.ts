import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { makeMarked, makeScopes, onlyIn, toWire } from "../../support/builders/marked-observations.ts";
import { seeded } from "../../support/builders/random.ts";
import { atVolume } from "../../support/volume.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

/*
 * What means the same is counted by several operations in several ways: from bits of hours, from sets of addresses,
 * from the last time that something was seen, and from the observations. Each pair of them must say the same number.
 */

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const NOW = Date.now();
const END = Math.ceil(NOW / HOUR) * HOUR;
const SCOPES = makeScopes(["team"]);
const EVERYWHERE = Array.from({ length: 4 }, (_, index) =>
  makeTag(`everywhere-${index}`, INTENTIONS[index] ?? "unknown", { name: `Everywhere ${index}` }),
);
const TAGS = [...EVERYWHERE, ...SCOPES.map((scope) => makeTag(onlyIn(scope), "suspicious"))];
const LABELS = ["global", "global,community,personal"];
const SPANS = [1, 90];

let world: World;
let key: string;
let ips: ReadonlySet<string>;

beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags(TAGS);
  key = await world.addCaller("unlimited", ["community_dataset"], "team");
  const count = atVolume(400, 6_000);
  const wire = makeMarked(seeded(11), { scopes: SCOPES, tags: TAGS, count, now: NOW }).map(toWire);
  expect((await world.store(wire)).rejected).toEqual([]);
  // What arrives twice counts once.
  await world.store(wire.filter((_, index) => index % 3 === 0));
  ips = new Set(wire.map(({ source_ip }) => String(source_ip)));
});
afterAll(() => world.close());

async function read<T>(schema: z.ZodType<T>, path: string, parameters: Record<string, string>): Promise<T> {
  const { status, body } = await world.get(`${path}?${new URLSearchParams(parameters)}`, { key });
  expect([path, parameters, status]).toEqual([path, parameters, 200]);
  return schema.parse(body);
}

const countOf = async (query: string, parameters: Record<string, string>) =>
  (await read(z.object({ count: z.int() }), "/v3/gnql/count", { query, ...parameters })).count;

const statsSchema = z.object({
  count: z.int(),
  stats: z.object({
    classifications: z.array(z.object({ classification: z.string(), count: z.int() })),
    tags: z.array(z.object({ id: z.string(), count: z.int() })),
    asns: z.array(z.object({ asn: z.string(), count: z.int() })),
    countries: z.array(z.object({ country: z.string(), count: z.int() })),
    organizations: z.array(z.object({ organization: z.string(), count: z.int() })),
  }),
});
const readStats = (query: string, parameters: Record<string, string>) =>
  read(statsSchema, "/v3/gnql/stats", { query, ...parameters });

/** By hours or days of the last `days`. */
async function readSeries(query: string, interval: string, days: number, labels: string) {
  const start = new Date(END - days * DAY).toISOString();
  const parameters = { query, interval, start, end: new Date(END).toISOString(), workspace_labels: labels };
  const schema = z.object({ data: z.array(z.object({ date: z.string(), count: z.int() })) });
  return (await read(schema, "/v3/gnql/timeseries/stats", parameters)).data;
}

const activitySchema = z.object({
  activity: z.record(z.string(), z.array(z.object({ start: z.string(), active_ips: z.int() }))),
  aggregations: z.object({ total_ips: z.int() }),
});
const toDate = (timestamp: string) => timestamp.replace("T", " ").replace("Z", ".000");

test.each(LABELS)(
  "a tag's activity by hours and days is its time series, its total the count of its search (%s)",
  async (labels) => {
    for (const { slug } of EVERYWHERE.slice(2)) {
      for (const [days, granularity, interval] of [
        [3, "1h", "hour"],
        [90, "24h", "day"],
      ] as const) {
        const scope = { days: String(days), workspace_labels: labels };
        const activity = await read(activitySchema, `/v3/tags/${slug}/activity`, { ...scope, granularity });
        const buckets = Object.values(activity.activity).flat();
        expect(await readSeries(`tags:${slug}`, interval, days, labels)).toEqual(
          buckets.map(({ start, active_ips }) => ({ date: toDate(start), count: active_ips })),
        );
        expect(await countOf(`tags:${slug}`, scope)).toBe(activity.aggregations.total_ips);
        expect(activity.aggregations.total_ips).toBeGreaterThan(0);
      }
    }
  },
);

test("the addresses of hours are the time series of every address", async () => {
  const hours = await read(
    z.object({ hours: z.array(z.object({ start: z.string(), active_ips: z.int() })) }),
    "/v3/stats/hours",
    { days: "3" },
  );
  const expected = hours.hours.map(({ start, active_ips }) => ({ date: toDate(start), count: active_ips }));
  expect(await readSeries("*", "hour", 3, "global")).toEqual(expected);
  expect(expected.some(({ count }) => count > 0)).toBe(true);
});

test("a search's statistics are the counts of its narrower searches, and its count their own", async () => {
  for (const days of SPANS) {
    const scope = { days: String(days), workspace_labels: "global,community,personal" };
    for (const query of ["*", "NOT tags:everywhere-3 country:*"]) {
      const { count, stats } = await readStats(query, scope);
      expect(await countOf(query, scope)).toBe(count);
      const narrowed = (condition: string) => countOf(`(${query}) ${condition}`, scope);
      for (const one of stats.classifications)
        expect(await narrowed(`classification:${one.classification}`)).toBe(one.count);
      expect(stats.classifications.reduce((sum, one) => sum + one.count, 0)).toBe(count);
      for (const one of stats.tags) expect(await narrowed(`tags:${one.id}`)).toBe(one.count);
      for (const one of stats.asns) expect(await narrowed(`asn:${one.asn}`)).toBe(one.count);
      for (const one of stats.countries) expect(await narrowed(`country:"${one.country}"`)).toBe(one.count);
    }
  }
});

test("statistics of all addresses by network and country are those of the search for every address", async () => {
  const active = z.object({ active_ips: z.int() });
  for (const days of SPANS) {
    const scope = { days: String(days) };
    const limited = { ...scope, limit: "1000" };
    const { count, stats } = await readStats("*", { ...scope, count: "1000" });
    const networks = await read(
      z.object({ total_ips: z.int(), networks: z.array(active.extend({ asn: z.string() })) }),
      "/v3/stats/networks",
      limited,
    );
    const countries = await read(
      z.object({
        total_ips: z.int(),
        countries: z.array(active.extend({ country: z.string(), country_code: z.string() })),
      }),
      "/v3/stats/countries",
      limited,
    );
    expect([networks.total_ips, countries.total_ips]).toEqual([count, count]);
    const counted = <T extends { active_ips: number }>(rows: readonly T[], name: (row: T) => string) =>
      Object.fromEntries(rows.map((row) => [name(row), row.active_ips]));
    expect(Object.fromEntries(stats.asns.map((one) => [one.asn, one.count]))).toEqual(
      counted(networks.networks, ({ asn }) => asn),
    );
    expect(Object.fromEntries(stats.countries.map((one) => [one.country, one.count]))).toEqual(
      counted(countries.countries, ({ country }) => country),
    );
  }
});

test("over all that is stored, classifications are those of the search and of lookups", async () => {
  const { count, stats } = await readStats("*", {});
  const { classifications, total_ips } = await read(
    z.object({
      classifications: z.array(z.object({ classification: z.string(), active_ips: z.int() })),
      total_ips: z.int(),
    }),
    "/v3/stats/classifications",
    { days: "90" },
  );
  expect(total_ips).toBe(count);
  const bySearch = Object.fromEntries(stats.classifications.map((one) => [one.classification, one.count]));
  const there = classifications.filter(({ active_ips }) => active_ips > 0);
  expect(Object.fromEntries(there.map((one) => [one.classification, one.active_ips]))).toEqual(bySearch);
  const bulk = await world.post("/v3/ip?quick=true", { ips: [...ips] }, { key });
  const rows = z
    .object({ data: z.array(z.object({ internet_scanner_intelligence: z.object({ classification: z.string() }) })) })
    .parse(bulk.body).data;
  const byLookup: Record<string, number> = {};
  for (const { internet_scanner_intelligence: scanner } of rows) {
    if (scanner.classification === "") continue;
    byLookup[scanner.classification] = (byLookup[scanner.classification] ?? 0) + 1;
  }
  expect(byLookup).toEqual(bySearch);
});

test("the list of a search, its pages and its count are of the same addresses", async () => {
  for (const query of ["tags:everywhere-1", "port:22 OR country:DE"]) {
    for (const days of [undefined, ...SPANS]) {
      const scope: Record<string, string> = days === undefined ? {} : { days: String(days) };
      const list = await read(z.object({ ips: z.array(z.string()) }), "/v3/gnql/ips", { query, ...scope });
      const page = await read(z.object({ data: z.array(z.object({ ip: z.string() })) }), "/v3/gnql", {
        query,
        quick: "true",
        ...scope,
      });
      expect(page.data.map(({ ip }) => ip).sort()).toEqual([...list.ips].sort());
      expect(await countOf(query, scope)).toBe(list.ips.length);
    }
  }
});
