import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation, type SentObservation } from "../../support/builders/observation.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { atVolume } from "../../support/volume.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const NOW = Date.parse("2026-11-20T14:30:00Z");
const END = Date.parse("2026-11-20T15:00:00Z");
const START = END - DAY;
/** How far the observations of the world reach back. */
const DAYS = 40;
const CVES = ["CVE-2026-0001", "CVE-2026-0002", "CVE-2026-0003", "CVE-2026-0004"];
const TAGS = [
  makeTag("steady", "malicious", { cves: [String(CVES[0])] }),
  makeTag("rising", "suspicious"),
  makeTag("fresh", "malicious", { cves: [String(CVES[0]), String(CVES[1]), String(CVES[3]).toLowerCase()] }),
  makeTag("fresh-too", "unknown", { cves: [String(CVES[1]), String(CVES[2])] }),
  makeTag("unseen", "benign", { cves: [String(CVES[2])] }),
];
const OWN = ["45.0.0.0/27", "45.0.0.8/32", "45.9.0.0/16"];
const A_DAY = atVolume(60, 600);

let world: World;
let seen: readonly SentObservation[];

/** Addresses and paths of which some come for the first time, and some only seem to. */
function makeObservations(random: Random): SentObservation[] {
  const ip = () => `45.0.${random.int(0, 2)}.${random.int(1, 60)}`;
  const dataset = () => random.pick(["global", "global", "global", "community"]);
  const of = (at: number, more: object) => observation(ip(), at, { dataset: dataset(), ...more });
  const path = (text: string) => ({ http: { path: text } });
  const day = () => random.pick([START, START + random.int(0, DAY - HOUR), NOW - random.int(0, HOUR)]);
  const earlier = () => random.pick([START - 1, START - random.int(1, DAYS * DAY)]);
  return [
    ...Array.from({ length: DAYS }, (_, days) =>
      Array.from({ length: A_DAY }, () =>
        of(START - days * DAY - random.int(1, DAY), {
          tags: random.chance(0.7) ? ["steady"] : ["rising"],
          ...(random.chance(0.3) ? path(`/Old${random.int(1, 30)}`) : {}),
        }),
      ),
    ).flat(),
    ...Array.from({ length: 400 }, () => of(day(), { tags: ["rising"], ...path(`/new${random.int(1, 120)}*"?`) })),
    ...Array.from({ length: 150 }, () => of(random.pick([day(), earlier()]), path(`/old${random.int(1, 60)}`))),
    // The same addresses ask for these in the day and before it.
    ...Array.from({ length: 40 }, (_, n) => `45.3.0.${n}`).flatMap((source_ip, n) => [
      { ...of(day(), path(`/again${n % 8}`)), source_ip },
      ...(n % 3 === 0 ? [{ ...of(earlier(), path(`/AGAIN${n % 8}`)), source_ip }] : []),
    ]),
    ...Array.from({ length: 6 }, () => of(day(), { tags: ["fresh", "steady"] })),
    ...Array.from({ length: 2 }, () => of(day(), { tags: ["fresh-too"] })),
  ];
}

beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags(TAGS);
  seen = makeObservations(seeded(4));
  expect((await world.store(seen)).rejected).toEqual([]);
  await world.store(seen.slice(0, 200));
});
afterAll(() => world.close());

const inDataset = (datasets: readonly string[]) => seen.filter(({ dataset }) => datasets.includes(String(dataset)));
const timeOf = ({ observed_at }: SentObservation) => Date.parse(observed_at);
const addressesOf = (some: readonly SentObservation[]) => new Set(some.map(({ source_ip }) => source_ip)).size;
const tagsOf = ({ tags }: SentObservation) => z.array(z.string()).parse(tags ?? []);
const pathsOf = ({ http }: SentObservation) =>
  http === undefined ? [] : [z.object({ path: z.string() }).parse(http).path.toLowerCase()];

/** What is in the day alone, with its addresses: most first, ties by name. */
function newOf(some: readonly SentObservation[], namesOf: (one: SentObservation) => readonly string[], least: number) {
  const groups = new Map<string, SentObservation[]>();
  for (const one of some) for (const name of namesOf(one)) groups.set(name, [...(groups.get(name) ?? []), one]);
  return [...groups]
    .map(([name, of]) => ({ name, of }))
    .filter(({ of }) => of.every((one) => timeOf(one) >= START))
    .map(({ name, of }) => ({ name, addresses: addressesOf(of) }))
    .filter(({ addresses }) => addresses >= least)
    .toSorted((one, other) => other.addresses - one.addresses || (one.name < other.name ? -1 : 1));
}

const cvesOf = (one: SentObservation) =>
  TAGS.flatMap(({ slug, cves }) => (tagsOf(one).includes(slug) ? cves.map((id) => id.toUpperCase()) : []));

const search = z.object({ query: z.string(), days: z.int(), link: z.string() });
const entry = z.looseObject({ active_ips: z.int(), search });
const counted = z.object({ count: z.int(), search });
const list = z.object({ count: z.int(), entries: z.array(entry) });
const schema = z.looseObject({
  addresses: z.object({ seen: counted, new: counted }),
  new_tags: list,
  rising_tags: list,
  new_paths: list,
  new_cves: list,
  metadata: z.looseObject({ has_yesterday: z.boolean(), compared_days: z.int() }),
});
type Entry = z.infer<typeof entry>;

async function today(path = "/v3/today", headers?: Record<string, string>) {
  const { status, body } = await world.get(path, headers);
  expect(status).toBe(200);
  return schema.parse(body);
}

test.each([["global"], ["community"], ["global,community"]])("what is new in %s is the oracle's", async (labels) => {
  const some = inDataset(labels.split(","));
  const body = await today(`/v3/today?workspace_labels=${labels}`);
  const inDay = some.filter((one) => timeOf(one) >= START);
  const before = new Set(some.filter((one) => timeOf(one) < START).map(({ source_ip }) => source_ip));
  expect(body.addresses.seen.count).toBe(addressesOf(inDay));
  expect(body.addresses.new.count).toBe(addressesOf(inDay.filter(({ source_ip }) => !before.has(source_ip))));
  const lists = [
    ["new_tags", "slug", newOf(some, tagsOf, 1)],
    ["new_paths", "path", newOf(some, pathsOf, 3)],
    ["new_cves", "cve", newOf(some, cvesOf, 3)],
  ] as const;
  for (const [name, member, expected] of lists) {
    expect([name, body[name].count]).toEqual([name, expected.length]);
    const shown = body[name].entries.map((one: Entry) => ({ name: one[member], addresses: one.active_ips }));
    expect([name, shown]).toEqual([name, expected.slice(0, 20)]);
  }
  expect(newOf(some, pathsOf, 3).length).toBeGreaterThan(2);
});

test("a tag rises when its day is above what its days before make usual", async () => {
  const body = await today();
  const some = inDataset(["global"]);
  const countOf = (slug: string, from: number) =>
    addressesOf(some.filter((one) => timeOf(one) >= from && timeOf(one) < from + DAY && tagsOf(one).includes(slug)));
  const middle = (counts: number[]) => {
    const sorted = counts.toSorted((one, other) => one - other);
    return ((sorted[13] ?? 0) + (sorted[14] ?? 0)) / 2;
  };
  const expected = ["steady", "rising"].flatMap((slug) => {
    const past = Array.from({ length: 28 }, (_, day) => countOf(slug, START - (day + 1) * DAY));
    const median = middle(past);
    const deviation = Math.max(1.4826 * middle(past.map((count) => Math.abs(count - median))), Math.sqrt(median));
    const high = median + 4 * deviation;
    const active_ips = countOf(slug, START);
    const range = { median, low: Math.max(0, median - 4 * deviation), high };
    return active_ips > high ? [{ slug, active_ips, expected: range }] : [];
  });
  expect(expected.map(({ slug }) => slug)).toEqual(["rising"]);
  expect(body.metadata.compared_days).toBe(28);
  expect(body.rising_tags).toMatchObject({ count: 1, entries: expected });
});

test("the search of each line finds as many addresses as the line says", async () => {
  const { addresses, ...body } = await today();
  const lines = [body.new_tags, body.rising_tags, body.new_paths, body.new_cves].flatMap(({ entries }) => entries);
  const counts = [...lines.map(({ active_ips: count, search }) => ({ count, search })), addresses.seen, addresses.new];
  expect(counts.length).toBeGreaterThan(8);
  for (const { count, search } of counts) {
    const { query, days, link } = search;
    const parameters = new URLSearchParams({ query, ...(days > 0 && { days: String(days) }) });
    const found = await world.get(`/v3/gnql/count?${parameters}`);
    expect([query, found.body]).toEqual([query, expect.objectContaining({ count })]);
    expect(new URL(link).search).toBe(`?${parameters}`);
  }
});

test("a workspace sees who of its guarded networks scans; without a key nobody does", async () => {
  const key = await world.addCaller("unlimited");
  const guard = async (network: string) => world.post("/v3/guard", { network, note: `note of ${network}` }, { key });
  for (const network of OWN) expect((await guard(network)).status).toBe(201);
  const inOwn = inDataset(["global"]).filter(
    (one) => timeOf(one) >= START && /^45\.0\.0\.([0-9]|[12][0-9]|3[01])$/.test(one.source_ip),
  );
  const latest = new Map<string, number>();
  for (const one of inOwn) latest.set(one.source_ip, Math.max(latest.get(one.source_ip) ?? 0, timeOf(one)));
  expect(latest.size).toBeGreaterThan(20);
  const body = await today("/v3/today", { key });
  const entries = z
    .array(z.looseObject({ ip: z.string(), network: z.string(), note: z.string(), last_seen: z.string() }))
    .parse(Object(body.own_addresses).entries);
  expect(Object(body.own_addresses).count).toBe(latest.size);
  expect(entries).toHaveLength(20);
  const times = [...latest.values()].toSorted((one, other) => other - one).slice(0, 20);
  expect(entries.map(({ last_seen }) => last_seen)).toEqual(times.map(formatTimestamp));
  const { body: known } = await world.post("/v3/ip?quick=true", { ips: entries.map(({ ip }) => ip) });
  const quick = z.object({ ip: z.string(), internet_scanner_intelligence: z.object({ classification: z.string() }) });
  const { data } = z.object({ data: z.array(quick) }).parse(known);
  for (const [n, { ip, network, note, last_seen, classification }] of entries.entries()) {
    const narrowest = ip === "45.0.0.8" ? "45.0.0.8/32" : "45.0.0.0/27";
    expect([ip, network, note]).toEqual([ip, narrowest, `note of ${narrowest}`]);
    expect(last_seen).toBe(formatTimestamp(latest.get(ip) ?? 0));
    expect({ ip, internet_scanner_intelligence: { classification } }).toEqual(data[n]);
  }
  const keyless = await today("/v3/today", {});
  for (const name of ["own_addresses", "silent_sensors", "feeds", "events"]) expect(keyless).not.toHaveProperty(name);
  expect(keyless.new_paths).toEqual((await today()).new_paths);
});

test("a store that has seen nothing before the day calls nothing new, and says why", async () => {
  const young = await createWorld(() => NOW);
  try {
    await young.addTags(TAGS);
    const { body: empty } = await young.get("/v3/today");
    expect(empty).toMatchObject({
      addresses: { seen: { count: 0 } },
      metadata: { has_yesterday: false, stored_from: "" },
    });
    await young.store(
      ["1", "2", "3"].map((last) => observation(`45.0.0.${last}`, START, { tags: ["steady"], http: { path: "/x" } })),
    );
    const { body } = await young.get("/v3/today");
    const none = { count: 0, entries: [] };
    expect(body).toMatchObject({
      addresses: { seen: { count: 3 }, new: { count: 0 } },
      ...{ new_tags: none, rising_tags: none, new_paths: none, new_cves: none },
      metadata: { has_yesterday: false, compared_days: 0, stored_from: formatTimestamp(START) },
    });
  } finally {
    await young.close();
  }
});
