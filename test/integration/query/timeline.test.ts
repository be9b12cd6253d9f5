import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { type Marked, toWire } from "../../support/builders/marked-observations.ts";
import type { Known } from "../../support/oracle/address-oracle.ts";
import { expectedInteraction } from "../../support/oracle/noise-oracle.ts";
import { expectedTimeline, OTHER_LABELS } from "../../support/oracle/timeline-oracle.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const HOUR = 3_600_000;
const worm = makeTag("worm", "malicious");
const gone = makeTag("gone", "malicious");
const alsoGone = makeTag("also-gone", "suspicious");
const census = makeTag("census", "benign");
let world: World;

beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([worm, gone, alsoGone, census]);
});
afterAll(() => world.close());

/** An observation that differs from the others by its path only. */
const observed = (ip: string, number: number, at: number, path: string | undefined): Marked => ({
  ip,
  at,
  path,
  mark: "",
  dataset: "global",
  tagIds: [],
  observationId: `o-${number}`,
  sensorId: "s",
  ...{ port: undefined, transport: undefined, method: undefined, userAgent: undefined },
  ...{ ja3: undefined, ja4: undefined, hassh: undefined },
  ...{ asn: undefined, organization: undefined, country: undefined, city: undefined, rdns: undefined },
});
const knowing = (seen: readonly Marked[]): Known => ({
  seen,
  tags: [],
  serviceOf: () => undefined,
  actorOf: () => undefined,
});

const shape = z.object({
  results: z.array(z.object({ data: z.int(), label: z.string(), timestamp: z.string() })),
});
async function timeline(ip: string, query: string) {
  const { status, body } = await world.get(`/v3/noise/ips/${ip}/timeline?${query}`);
  expect(status).toBe(200);
  return { body, results: shape.parse(body).results };
}
const sum = (rows: readonly { readonly data: number }[]) => rows.reduce((total, { data }) => total + data, 0);

test("of more than 1,000 labels the most frequent have rows of their own, and all others of a bucket are one row", async () => {
  const ip = "45.0.0.1";
  const paths = [
    ...Array.from({ length: 300 }, (_, n) => Array.from({ length: 2 + (n % 3) }, () => `/often/${n}`)).flat(),
    // Equally frequent labels: the first in their order have rows.
    ...Array.from({ length: 1_200 }, (_, n) => `/once/${(n * 7_919) % 1_200}`),
    // A sensor's text that equals the label of all others.
    ...Array.from({ length: 9 }, () => OTHER_LABELS),
  ];
  const seen = paths.map((path, n) => observed(ip, n, NOW - (n % 5) * HOUR - 1, path));
  expect((await world.store(seen.map(toWire))).rejected).toEqual([]);
  for (const granularity of ["1h", "1d"]) {
    const { body, results } = await timeline(ip, `field=http_path&granularity=${granularity}`);
    expect(body).toEqual(expectedTimeline(ip, { field: "http_path", days: 1, granularity, now: NOW }, knowing(seen)));
    expect(sum(results)).toBe(seen.length);
    expect(new Set(results.map(({ label }) => label)).size).toBe(1_001);
  }
});

test("long labels in many buckets have rows of their own as far as they fit in 8 MiB", async () => {
  const ip = "45.0.0.2";
  const [labels, hours] = [500, 10];
  const tail = "x".repeat(2_000);
  await world.client.insertSelect({
    query: `INSERT INTO ${OBSERVATIONS} (observation_id, observed_at, dataset, sensor_id, source_ip, http_path)
      SELECT concat('o-', toString(number)),
        fromUnixTimestamp64Milli({now:Int64} - intDiv(number, ${labels}) * ${HOUR} - 1, 'UTC'),
        'global', 's', toIPv4({ip:String}), concat('/', toString(number % ${labels}), {tail:String})
      FROM numbers(${labels * hours})`,
    query_params: { now: NOW, ip, tail },
  });
  const seen = Array.from({ length: labels * hours }, (_, n) =>
    observed(ip, n, NOW - Math.floor(n / labels) * HOUR - 1, `/${n % labels}${tail}`),
  );
  const { body, results } = await timeline(ip, "field=http_path&granularity=1h");
  expect(sum(results)).toBe(seen.length);
  const shown = new Set(results.map(({ label }) => label)).size - 1;
  expect([shown > 350, shown < labels]).toEqual([true, true]);
  const text = JSON.stringify(body);
  expect(text.length).toBeLessThan(9 * 1024 * 1024);
  const expected = expectedTimeline(ip, { field: "http_path", days: 1, granularity: "1h", now: NOW }, knowing(seen));
  // Compared as texts: printing a difference of megabytes takes minutes. `first_seen` is not compared here.
  expect(
    text.slice(text.indexOf("results")) === JSON.stringify(expected).slice(JSON.stringify(expected).indexOf("results")),
  ).toBe(true);
});

test("a tag that was removed from the catalogue is ignored: without another one the observation is unknown", async () => {
  const ip = "45.0.0.3";
  const said = { source_ip: ip, sensor_id: "s", observed_at: new Date(NOW - 1).toISOString() };
  await world.store([
    { ...said, observation_id: "a", tags: ["gone"] },
    { ...said, observation_id: "b", tags: ["gone", "also-gone"] },
    { ...said, observation_id: "c", tags: ["gone", "census"] },
    { ...said, observation_id: "d", tags: ["worm", "gone"] },
    { ...said, observation_id: "e" },
  ]);
  await world.client.command({
    query: "DELETE FROM tags WHERE slug IN ('gone', 'also-gone')",
    clickhouse_settings: { lightweight_deletes_sync: "2" },
  });
  await world.catalogue.refresh();
  const { results } = await timeline(ip, "field=classification");
  expect(results.map(({ label, data }) => [label, data])).toEqual([
    ["unknown", 3],
    ["benign", 1],
    ["malicious", 1],
  ]);
  expect((await world.get(`/v3/ip/${ip}?quick=true`)).body).toMatchObject({
    internet_scanner_intelligence: { classification: "malicious" },
  });
});

test("an observation sent again under its id has its latest content, before and after the store merges", async () => {
  const ip = "45.0.0.4";
  const said = { source_ip: ip, sensor_id: "s", observed_at: new Date(NOW - 1).toISOString(), observation_id: "same" };
  await world.client.command({ query: "SYSTEM STOP MERGES observations" });
  await world.store([{ ...said, http: { path: "/first" } }]);
  await world.store([{ ...said, http: { path: "/second" } }]);
  const readAnswers = async () => [
    (await timeline(ip, "field=http_path")).results.map(({ label, data }) => [label, data]),
    (await world.get(`/v3/ip/${ip}`)).body,
  ];
  const before = await readAnswers();
  expect(before).toMatchObject([
    [["/second", 1]],
    { internet_scanner_intelligence: { metadata: { sensor_hits: 1 }, raw_data: { http: { path: ["/second"] } } } },
  ]);
  await world.client.command({ query: "SYSTEM START MERGES observations" });
  await world.client.command({ query: "OPTIMIZE TABLE observations FINAL" });
  expect(await readAnswers()).toEqual(before);
});

/** A visit to a sensor that lets everyone in. */
const visit = (number: number, more: Partial<Marked>): Marked => ({
  ...observed("45.0.0.7", number, NOW - HOUR - number, undefined),
  ...more,
});

test("credentials, commands, URLs and files of an address are the 100 most frequent, beside how many there are", async () => {
  const script = "<script>alert(1)</script>";
  const visits = Array.from({ length: 150 }, (_, n) =>
    visit(n, {
      credentials: [
        { username: "root", password: `${n % 120}` },
        { username: "root", password: `${n % 120}` },
        { username: n % 2 === 0 ? script : "ünï\u202e", password: "" },
        ...(n % 3 === 0 ? [{}] : []),
      ],
      loginAttempts: n,
      commands: ["uname -a", "uname -a", "", `echo '${script}' ${n}`],
      urls: n % 5 === 0 ? [`http://45.0.0.9/${n % 7}`] : [],
      payloads: n === 0 ? ["e".repeat(64)] : [],
    }),
  );
  // The first one twice: it counts once, with its latest content.
  const older = { ...visits[0], commands: ["older"], loginAttempts: 1_000 };
  expect((await world.store([{ ...toWire(visit(0, older)) }])).rejected).toEqual([]);
  expect((await world.store(visits.map(toWire))).rejected).toEqual([]);
  const { status, body } = await world.get("/v3/noise/ips/45.0.0.7/interaction");
  const known = knowing(visits);
  expect({ status, body }).toEqual({ status: 200, body: expectedInteraction("45.0.0.7", known) });
  expect(body).toMatchObject({
    login_attempts: (149 * 150) / 2,
    total_credentials: 123,
    total_commands: 151,
    total_urls: 7,
    total_payloads: 1,
    commands: { length: 100, 0: { command: "uname -a", observations: 150 } },
    credentials: { length: 100, 0: { username: script, password: "", observations: 75 } },
  });
  const nothing = (await world.get("/v3/noise/ips/45.0.0.2/interaction")).body;
  expect(nothing).toEqual(expectedInteraction("45.0.0.2", known));
  expect((await world.get("/v3/noise/ips/45.0.0.7/interaction?workspace_labels=community")).body).toMatchObject({
    login_attempts: 0,
    total_commands: 0,
  });
});

test.each(["tags", "interaction"])("a bad question for the %s of an address is rejected", async (details) => {
  for (const [path, headers, status] of [
    [`10.0.0.1/${details}`, {}, 400],
    [`45.0.0/${details}`, {}, 400],
    [`45.0.0.1/${details}?workspace_labels=x`, {}, 400],
    [`45.0.0.1/${details}?workspace_labels=personal`, {}, 400],
    [`45.0.0.1/${details}`, { key: "made-up" }, 401],
  ] as const) {
    expect([path, (await world.get(`/v3/noise/ips/${path}`, headers)).status]).toEqual([path, status]);
  }
});
