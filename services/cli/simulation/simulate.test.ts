import { fileURLToPath } from "node:url";
import { type ValidObservation, validateObservation } from "@noisefloor/domain/observation/observation.ts";
import { observationJsonSchema } from "@noisefloor/domain/observation/schema.ts";
import { DAY_MS, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { type OpenEnricher, openEnricher } from "@noisefloor/ingest/rows/enrichment/open-enricher.ts";
import { listRuleFiles, readRuleText } from "@noisefloor/ingest/tagging/rule-files/read-folder.ts";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { SENSOR_PREFIX, SENSORS } from "./fleet.ts";
import { openInternet } from "./open.ts";
import { type SimulatedInternet, simulate } from "./simulate.ts";

const NOW = Date.parse("2026-11-20T14:23:45Z");
const PER_DAY = 3_000;
/** How many observations the intake is asked about. */
const CHECKED = 1_000;

let databases: OpenEnricher;
let internet: SimulatedInternet;
let fortnight: readonly ValidObservation[];
beforeAll(async () => {
  databases = await openEnricher({ mmdbPaths: [], log: { warn: () => {} } });
  internet = await openInternet({ seed: 7, sources: 4_000, databases });
  fortnight = simulated(14);
}, 60_000);

const simulated = (days: number, now = NOW, from: SimulatedInternet = internet, perDay = PER_DAY) => [
  ...simulate(from, { from: now - days * DAY_MS, to: now, perDay }),
];
const idOf = ({ observation }: ValidObservation) => observation.observation_id;
const tally = <T>(values: readonly T[]) => {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
};
const largest = (counts: ReadonlyMap<unknown, number>) => [...counts.values()].sort((one, other) => other - one);

/** All paths of members that objects have, like `http.path`; those of free form are one. */
function membersOf(value: object, prefix = ""): string[] {
  return Object.entries(value).flatMap(([name, member]) => {
    const isPart = ["http", "tls", "ssh"].includes(name) && typeof member === "object" && member !== null;
    return isPart ? membersOf(member, `${name}.`) : [`${prefix}${name}`];
  });
}

describe("a simulated fleet", () => {
  test("sends only observations that the intake accepts as they are, in order, none of them from outside its span", () => {
    const times = fortnight.map(({ observedAt }) => observedAt);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(times[0]).toBeGreaterThan(NOW - 14 * DAY_MS);
    expect(times.at(-1)).toBeLessThanOrEqual(NOW);
    for (const { observation, observedAt } of fortnight.slice(0, CHECKED)) {
      const sent: unknown = JSON.parse(JSON.stringify(observation));
      const result = validateObservation(sent, { now: NOW, retentionDays: 15, right: "everything" });
      expect(result).toEqual({ observation: sent, observedAt, isFilledIn: false });
    }
  });

  test("names only tags that the catalogue has", async () => {
    const named = new Set(fortnight.flatMap(({ observation }) => observation.tags));
    const files = await listRuleFiles(fileURLToPath(new URL("../../../infra/tags", import.meta.url)));
    const texts = await Promise.all(files.map(({ file }) => readRuleText(file)));
    const slugs = texts.map((text) => /^slug: (\S+)$/m.exec(text)?.[1]);
    expect(named.size).toBeGreaterThan(0);
    expect([...named].filter((slug) => !slugs.includes(slug))).toEqual([]);
  });

  test("shows every member of the wire schema", () => {
    const properties = z.record(
      z.string(),
      z.looseObject({ properties: z.record(z.string(), z.unknown()).optional() }),
    );
    const schema = z.object({ $defs: z.object({ Observation: z.object({ properties }) }) });
    const { Observation } = schema.parse(observationJsonSchema()).$defs;
    const expected = Object.entries(Observation.properties).flatMap(([name, { properties: inner }]) =>
      inner === undefined || name === "metadata" ? [name] : Object.keys(inner).map((member) => `${name}.${member}`),
    );
    const shown = new Set(fortnight.flatMap(({ observation }) => membersOf(observation)));
    expect([...shown].sort()).toEqual(expected.sort());
  });

  test("says in every observation that it is simulated, and comes from every sensor", () => {
    const sensors = new Set(fortnight.map(({ observation }) => observation.sensor_id));
    expect([...sensors].sort()).toEqual(SENSORS.map(({ id }) => id).sort());
    expect([...sensors].filter((id) => !id.startsWith(SENSOR_PREFIX))).toEqual([]);
    expect(fortnight.filter(({ observation }) => observation.metadata?.simulated !== true)).toEqual([]);
  });

  test("is scanned by few sources often and by many seldom", () => {
    const counts = largest(tally(fortnight.map(({ observation }) => observation.source_ip)));
    const shareOf = (part: number) =>
      counts.slice(0, Math.ceil(counts.length * part)).reduce((sum, count) => sum + count, 0) / fortnight.length;
    expect(counts.length).toBeGreaterThan(5_000);
    expect(shareOf(0.01)).toBeGreaterThan(0.25);
    expect(shareOf(0.1)).toBeGreaterThan(0.5);
    expect(shareOf(0.0001)).toBeLessThan(0.1);
    expect(counts.filter((count) => count === 1).length / counts.length).toBeGreaterThan(0.2);
  });

  test("is scanned from the countries and networks that real scans come from", () => {
    const addresses = [...new Set(fortnight.map(({ observation }) => observation.source_ip))];
    const facts = addresses.map((ip) => databases.factsOf(ip));
    expect(facts.filter(({ country }) => country === undefined)).toEqual([]);
    const countries = tally(facts.map(({ country }) => country));
    expect((countries.get("CN") ?? 0) / addresses.length).toBeGreaterThan(0.2);
    expect((countries.get("US") ?? 0) / addresses.length).toBeGreaterThan(0.12);
    expect(countries.size).toBeGreaterThan(40);
    expect(tally(facts.map(({ asn }) => asn)).size).toBeGreaterThan(300);
  });

  test("has a daily rhythm", () => {
    const hours = largest(tally(fortnight.map(({ observedAt }) => Math.floor(observedAt / HOUR_MS) % 24)));
    expect(hours.length).toBe(24);
    expect((hours[0] ?? 0) / (hours[23] ?? 1)).toBeGreaterThan(1.2);
    expect((hours[0] ?? 0) / (hours[23] ?? 1)).toBeLessThan(3);
  });
});

test("campaigns rise within days and fade away", () => {
  const shares = Array.from({ length: 40 }, (_, day) => internet.campaigns.sharesAt(NOW - day * DAY_MS));
  const [{ campaign } = { campaign: undefined }] = shares[20] ?? [];
  const course = shares.map((day) => day.find((one) => one.campaign === campaign)?.share ?? 0);
  const peak = course.indexOf(Math.max(...course));
  expect(course[0]).toBe(0);
  expect(course.at(-1)).toBe(0);
  const [after, before] = [course.slice(0, peak + 1), course.slice(peak)];
  expect(after).toEqual(after.toSorted((one, other) => one - other));
  expect(before).toEqual(before.toSorted((one, other) => other - one));
});

describe("simulating again", () => {
  test("with the same seed gives the very same observations, each with an id of its own", async () => {
    const again = await openInternet({ seed: 7, sources: 4_000, databases });
    expect(simulated(1, NOW, again)).toEqual(simulated(1));
    expect(new Set(fortnight.map(idOf)).size).toBe(fortnight.length);
  });

  test("with another seed, density or number of sources gives others, under other ids", async () => {
    // Without databases, which take half a second to draw from.
    const options = { seed: 7, sources: 4_000, databases: { ranges: () => undefined, factsOf: () => ({}) } };
    const same = await openInternet(options);
    const known = new Set(simulated(1, NOW, same).map(idOf));
    const others = [
      simulated(1, NOW, await openInternet({ ...options, seed: 8 })),
      simulated(1, NOW, await openInternet({ ...options, sources: 3_999 })),
      simulated(1, NOW, same, PER_DAY + 1),
    ];
    for (const other of others) expect(other.map(idOf).filter((id) => known.has(id))).toEqual([]);
  });

  test("later adds what came since, and changes no earlier observation", () => {
    const later = new Map(simulated(2, NOW + 5 * HOUR_MS).map((value) => [idOf(value), value]));
    const before = simulated(1);
    expect(before.map((value) => later.get(idOf(value)))).toEqual(before);
  });

  test("at a high density gives as many observations as it says", () => {
    const perSecond = 2_000;
    const span = { from: NOW - 10_000, to: NOW, perDay: perSecond * 86_400 };
    const count = [...simulate(internet, span)].length;
    expect(count).toBeGreaterThan(10 * perSecond * 0.6);
    expect(count).toBeLessThan(10 * perSecond * 1.5);
  });
});

test("without databases the sources are routable all the same, and sensors send their countries", async () => {
  const none = { ranges: () => undefined, factsOf: () => ({}) };
  const observations = simulated(1, NOW, await openInternet({ seed: 7, sources: 4_000, databases: none }));
  const results = observations.map(({ observation }) =>
    validateObservation({ ...observation }, { now: NOW, retentionDays: 15, right: "everything" }),
  );
  expect(results.filter((result) => "reason" in result)).toEqual([]);
  const withCountry = observations.filter(({ observation }) => observation.country !== undefined);
  expect(withCountry.length / observations.length).toBeGreaterThan(0.85);
});
