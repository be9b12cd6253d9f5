import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runDeadLettersRetry } from "@noisefloor/cli/commands/dead-letters/retry.ts";
import { type EnrichOptions, runEnrich } from "@noisefloor/cli/commands/enrich.ts";
import { runReplay } from "@noisefloor/cli/commands/replay.ts";
import { createEnricher, type Enricher } from "@noisefloor/ingest/rows/enrichment/enricher.ts";
import type { AddressFacts } from "@noisefloor/ingest/rows/enrichment/facts.ts";
import { fillStored } from "@noisefloor/ingest/rows/enrichment/fill-stored.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { observation, observationLine } from "../../support/builders/observation.ts";
import { mmdb } from "../../support/ingest/mmdb.ts";
import { startNameServer } from "../../support/ingest/name-server.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const HANOI = { country: "VN", region: "Hanoi", city: "Hanoi", latitude: 21.5, longitude: 105.25 };
const FPT = { asn: 18_403, organization: "FPT Telecom", ...HANOI };

let world: World;
let folder: string;
beforeEach(async () => {
  world = await createWorld(() => NOW);
  folder = await mkdtemp(join(tmpdir(), "noisefloor-enrich-"));
});
afterEach(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

/** All columns of all rows that count, as they are. */
async function readAll(): Promise<Record<string, unknown>[]> {
  const result = await world.client.query({
    query: "SELECT * FROM observations FINAL ORDER BY source_ip, observed_at, sensor_id, observation_id",
    format: "JSONEachRow",
  });
  return z.array(z.record(z.string(), z.unknown())).parse(await result.json());
}

/** What each stored source is known for. */
async function readFacts() {
  const rows = await readAll();
  return Object.fromEntries(
    rows.map(({ source_ip, asn, organization, country, region, city, latitude, longitude }) => [
      source_ip,
      { asn, organization, country, region, city, latitude, longitude },
    ]),
  );
}

/** Knows these addresses and no other. */
const enricherOf = (known: Readonly<Record<string, AddressFacts>>): Enricher =>
  createEnricher(() => [{ name: "test", builtAt: undefined, lookUp: (ip) => known[ip] }]);

/** A command that finds 45.0.0.0/8 in Hanoi, by a file in MMDB_PATHS. */
async function commandWithFile() {
  const path = join(folder, "own.mmdb");
  const { asn, organization, country, region, city, ...location } = FPT;
  const place = { city: { names: { en: city } }, subdivisions: [{ names: { en: region } }], location };
  const network = { autonomous_system_number: asn, autonomous_system_organization: organization };
  await writeFile(path, mmdb({ "45.0.0.0/8": { country: { iso_code: country }, ...place, ...network } }));
  const command = commandOver(world);
  return { ...command, settings: { ...command.settings, mmdbPaths: [path] } };
}

test("what arrives over HTTP is stored with the network and the country of its source", async () => {
  const enricher = enricherOf({ "45.0.0.1": FPT });
  const ingest = await ingestOf(world, undefined, () => NOW, [], undefined, undefined, {
    rows: { enrich: enricher.enrich },
  });
  const app = await makeApp(INGEST_OPERATIONS, ingest.register);
  const own = { asn: "AS64500", organization: "Own", country: "DE" };
  const lines = [observationLine("45.0.0.1", NOW), observationLine("45.0.0.2", NOW, own)];
  const { statusCode } = await app.inject({ method: "POST", url: "/v1/observations", payload: lines.join("\n") });
  expect(statusCode).toBe(202);
  await app.close();
  const nowhere = { region: "", city: "", latitude: 0, longitude: 0 };
  expect(await readFacts()).toEqual({
    "45.0.0.1": FPT,
    "45.0.0.2": { asn: 64_500, organization: "Own", country: "DE", ...nowhere },
  });
});

test("so is what is replayed from a file, and what a retry takes from the dead letters", async () => {
  const command = await commandWithFile();
  const file = join(folder, "observations.ndjson");
  await writeFile(
    file,
    [observationLine("45.0.0.1", NOW), observationLine("45.0.0.2", NOW, { tags: ["late"] })].join("\n"),
  );
  await runReplay([file], { format: "observations" }, command);
  expect(await readFacts()).toEqual({ "45.0.0.1": FPT });
  await world.addTags([makeTag("late", "unknown")]);
  await runDeadLettersRetry([], { all: true, dryRun: false, overridePermission: false, json: false }, command);
  expect(await readFacts()).toEqual({ "45.0.0.1": FPT, "45.0.0.2": FPT });
});

test("a crawler is known by a name that leads back to its address, with REVERSE_DNS=on", async () => {
  const server = await startNameServer({
    reverse: { "45.0.0.1": "crawl-1.googlebot.com", "45.0.0.2": "crawl-1.googlebot.com" },
    forward: { "crawl-1.googlebot.com": ["45.0.0.1"] },
  });
  try {
    const file = join(folder, "observations.ndjson");
    const http = { method: "GET", path: "/", user_agent: "Mozilla/5.0 (compatible; Googlebot/2.1)" };
    const lines = ["45.0.0.1", "45.0.0.2"].map((ip) => observationLine(ip, NOW, { http }));
    await writeFile(file, lines.join("\n"));
    const command = commandOver(world);
    const settings = { ...command.settings, reverseDns: { servers: [server.address] } };
    await runReplay([file], { format: "observations" }, { ...command, settings });
    await world.refresh();
    const scanner = async (ip: string) => {
      const { body } = await world.get(`/v3/ip/${ip}`);
      const tags = z.array(z.object({ slug: z.string() }).transform(({ slug }) => slug));
      const metadata = z.object({ rdns: z.string(), rdns_validated: z.boolean() });
      const shape = z.object({ internet_scanner_intelligence: z.object({ tags, metadata }) });
      return shape.parse(body).internet_scanner_intelligence;
    };
    const real = await scanner("45.0.0.1");
    expect(real.metadata).toEqual({ rdns: "crawl-1.googlebot.com", rdns_validated: true });
    expect(real.tags).toContain("googlebot");
    const copy = await scanner("45.0.0.2");
    expect(copy.metadata).toEqual({ rdns: "", rdns_validated: false });
    expect(copy.tags).toContain("googlebot-claimed");
    expect(copy.tags).not.toContain("googlebot");
  } finally {
    await server.close();
  }
});

/** Observations with every member, some without a network or a country, over several weeks. */
async function storeHistory() {
  await world.addTags([makeTag("worm", "malicious"), makeTag("probe", "unknown")]);
  const full = {
    transport: "tcp",
    source_port: 4_000,
    destination_port: 22,
    tags: ["worm", "probe"],
    application: "ssh",
    session_id: "s-1",
    credentials: [{ username: "root", password: "it's \\ a 😀" }, { username: "admin" }],
    login_attempts: 2,
    commands: ["uname -a"],
    urls: ["http://45.9.9.9/x"],
    payload_sha256: ["a".repeat(64)],
    labels: ["ET SCAN"],
    http: { method: "GET", host: "h", path: "/p", query: "q", user_agent: "u", headers: ["Host"], body: "b\0" },
    tls: { ja3: "j3", ja4: "j4" },
    ssh: { hassh: "hs", banner: "SSH-2.0" },
    rdns: "x.example.org",
    rdns_validated: true,
    metadata: { a: [1, null] },
  };
  const { rejected } = await world.store([
    observation("45.0.0.1", NOW - HOUR, { ...full, observation_id: "one" }),
    observation("45.0.0.1", NOW - 40 * DAY, { ...full, observation_id: "two", dataset: "community" }),
    observation("45.0.0.2", NOW - DAY, { ...full, asn: 64_500 }),
    observation("45.0.0.2", NOW - 2 * DAY, { ...full, session_id: "s-2", country: "DE", city: "Berlin" }),
    observation("45.0.0.3", NOW - DAY, { ...full, asn: 1, country: "DE", organization: "Own" }),
    observation("45.0.0.4", NOW - DAY, full),
    observation("46.0.0.1", NOW - 20 * DAY, { source_port: 0, organization: "It's \\ own" }),
  ]);
  expect(rejected).toEqual([]);
}

const KNOWN = { "45.0.0.1": FPT, "45.0.0.2": FPT, "45.0.0.3": FPT, "46.0.0.1": { country: "SG" } };

test("stored observations get what they would have got at the intake, and nothing else of them changes", async () => {
  await storeHistory();
  const before = await readAll();
  const enricher = enricherOf(KNOWN);
  const filled = await fillStored(world.client, { factsOf: enricher.factsOf, since: 0, dryRun: false });
  expect(filled).toEqual({
    filled: { observations: 5, sources: 3 },
    unknown: { observations: 1, sources: 1 },
    isComplete: true,
  });
  const expected = before.map((row) => {
    const { source_ip, asn, organization, country, region, city, latitude, longitude } = row;
    const sent = z
      .object({ source_ip: z.string(), asn: z.int(), latitude: z.number(), longitude: z.number() })
      .extend({ organization: z.string(), country: z.string(), region: z.string(), city: z.string() })
      .parse({ source_ip, asn, organization, country, region, city, latitude, longitude });
    return { ...row, ...enricher.enrich(sent) };
  });
  expect(expected).not.toEqual(before);
  expect(await readAll()).toEqual(expected);
  await world.client.command({ query: "OPTIMIZE TABLE observations FINAL" });
  expect(await readAll(), "the new row must win a merge, too").toEqual(expected);
});

test("filling in changes no answer but the network and the place", async () => {
  await storeHistory();
  const ask = async () => {
    const { tags } = z
      .object({ tags: z.array(z.object({ id: z.string() })) })
      .parse((await world.get("/v3/tags")).body);
    const activity = await Promise.all(
      tags.map(({ id }) => world.get(`/v3/tags/${id}/activity?days=60&include_ips=true`)),
    );
    const { body } = await world.get("/v3/ip/45.0.0.1?workspace_labels=global,community");
    const { internet_scanner_intelligence: scanner } = z
      .object({ internet_scanner_intelligence: z.looseObject({ metadata: z.looseObject({}) }) })
      .parse(body);
    const { metadata, ...rest } = scanner;
    const { sensor_hits, sensor_count } = metadata;
    return { activity, rest, sensor_hits, sensor_count };
  };
  const before = await ask();
  await fillStored(world.client, { factsOf: enricherOf(KNOWN).factsOf, since: 0, dryRun: false });
  expect(await ask()).toEqual(before);
  const { body } = await world.get("/v3/ip/45.0.0.1");
  expect(body).toMatchObject({
    internet_scanner_intelligence: {
      metadata: {
        asn: "AS18403",
        organization: "FPT Telecom",
        source_country: "Vietnam",
        source_country_code: "VN",
        source_city: "Hanoi",
        region: "Hanoi",
        latitude: 21.5,
        longitude: 105.25,
      },
    },
  });
});

test("an observation that its sensor sends again afterwards counts as it was sent last", async () => {
  await world.store([observation("45.0.0.1", NOW, { observation_id: "one" })]);
  await fillStored(world.client, { factsOf: () => FPT, since: 0, dryRun: false });
  await world.store([observation("45.0.0.1", NOW, { observation_id: "one", asn: 8, country: "DE" })]);
  await world.client.command({ query: "OPTIMIZE TABLE observations FINAL" });
  expect(await readFacts()).toMatchObject({ "45.0.0.1": { asn: 8, organization: "", country: "DE" } });
});

test("the command fills in by the files of MMDB_PATHS, from --since on; a dry run changes nothing", async () => {
  await world.store([observation("45.0.0.1", NOW - HOUR), observation("45.0.0.2", NOW - 3 * DAY)]);
  const run = async (options: EnrichOptions) => {
    const command = await commandWithFile();
    await runEnrich(options, command);
    return command.lines;
  };
  const before = await readAll();
  expect(await run({ since: "2d", dryRun: true })).toEqual([
    "Nothing was changed. The results would be:",
    "filled    1 observations of 1 sources",
    "unknown   0 observations of 0 sources",
  ]);
  expect(await readAll()).toEqual(before);
  expect(await run({ since: "2d", dryRun: false })).toContain("filled    1 observations of 1 sources");
  expect(await readFacts()).toMatchObject({ "45.0.0.1": FPT, "45.0.0.2": { asn: 0, country: "" } });
  expect(await run({ dryRun: false })).toContain("filled    1 observations of 1 sources");
  expect(await readFacts()).toEqual({ "45.0.0.1": FPT, "45.0.0.2": FPT });
  expect(await run({ dryRun: false })).toContain("filled    0 observations of 0 sources");
  const nothing = { observations: 0, sources: 0 };
  const [json = ""] = await run({ dryRun: false, json: true });
  expect(JSON.parse(json)).toEqual({ dry_run: false, is_complete: true, filled: nothing, unknown: nothing });
});

test("interrupted, it goes on where it stopped when it is called again", async () => {
  await world.store([observation("45.0.0.1", NOW), observation("46.0.0.1", NOW), observation("47.0.0.1", NOW)]);
  const stopping = new AbortController();
  const factsOf: Enricher["factsOf"] = (ip) => {
    if (ip === "46.0.0.1") stopping.abort();
    return FPT;
  };
  const first = await fillStored(world.client, { factsOf, since: 0, dryRun: false, signal: stopping.signal });
  expect(first).toMatchObject({ filled: { observations: 2 }, isComplete: false });
  const second = await fillStored(world.client, { factsOf, since: 0, dryRun: false });
  expect(second).toMatchObject({ filled: { observations: 1 }, isComplete: true });
  expect(Object.values(await readFacts())).toEqual([FPT, FPT, FPT]);
});
