import { replaceNetworkLists } from "@noisefloor/clickhouse/tables/networks.ts";
import { parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const HOUR = 3_600_000;
const worm = makeTag("worm", "malicious", { cves: ["CVE-2026-0002", "CVE-2026-0001"], description: "A worm." });
const probe = makeTag("probe", "suspicious", { cves: ["CVE-2026-0001"] });
const FIRST = NOW - 30 * 24 * HOUR;
const LAST = NOW - 2 * HOUR;
let world: World;

const day = (time: number) => new Date(time).toISOString().slice(0, 10);

beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([worm, probe]);
  const network = parseNetwork("8.8.8.0/24");
  if (typeof network === "string") throw new Error(network);
  const list = {
    listId: "dns",
    name: "Some DNS",
    category: "public_dns",
    description: "Resolvers.",
    explanation: "They resolve.",
    reference: "https://example.org",
    trustLevel: "1",
    priority: 0,
    networks: [network],
  };
  await replaceNetworkLists(world.client, "service", [list], NOW);
  const base = { source_ip: "45.0.0.1", transport: "tcp" };
  const rich = {
    ...base,
    observation_id: "same",
    observed_at: new Date(LAST).toISOString(),
    sensor_id: "s2",
    destination_port: 80,
    tags: ["worm", "probe"],
    asn: 18_403,
    organization: "FPT",
    country: "VN",
    city: "Hanoi",
    rdns: "x.example.org",
    http: { method: "GET", path: "/b", user_agent: "curl" },
    tls: { ja3: "j3", ja4: "j4" },
    ssh: { hassh: "hs" },
  };
  const old = { asn: 64_500, organization: "Old Org", country: "DE", tags: ["probe"], destination_port: 445 };
  const post = { method: "POST", path: "/a" };
  const { rejected } = await world.store([
    { ...base, ...old, observed_at: new Date(FIRST).toISOString(), sensor_id: "s1" },
    rich,
    { ...base, observed_at: new Date(LAST - HOUR).toISOString(), sensor_id: "s2", destination_port: 80, http: post },
    { ...base, observed_at: new Date(LAST).toISOString(), sensor_id: "s9", destination_port: 9, dataset: "community" },
  ]);
  await world.store([rich]);
  expect(rejected).toEqual([]);
});
afterAll(() => world.close());

const wireTag = (tag: typeof worm) => ({
  id: tag.id,
  slug: tag.slug,
  name: tag.name,
  description: tag.description,
  category: tag.category,
  intention: tag.intention,
  references: [],
  cves: tag.cves,
  recommend_block: false,
  created: "2026-01-01",
  created_at: "2026-01-01",
  updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/),
});
const NO_SERVICE = {
  found: false,
  category: "",
  name: "",
  description: "",
  explanation: "",
  last_updated: "",
  reference: "",
  trust_level: "",
};
const NO_SCANNER = {
  first_seen: "",
  last_seen: "",
  found: false,
  tags: [],
  actor: "",
  spoofable: false,
  classification: "",
  cves: [],
  bot: false,
  vpn: false,
  vpn_service: "",
  tor: false,
  metadata: {},
  raw_data: {},
  last_seen_timestamp: "",
};

function fullAnswer() {
  const tags = [worm, probe].sort((a, b) => (a.id < b.id ? -1 : 1)).map(wireTag);
  return {
    ip: "45.0.0.1",
    business_service_intelligence: NO_SERVICE,
    internet_scanner_intelligence: {
      ...NO_SCANNER,
      first_seen: day(FIRST),
      last_seen: day(LAST),
      found: true,
      tags,
      actor: "unknown",
      classification: "malicious",
      cves: ["CVE-2026-0001", "CVE-2026-0002"],
      metadata: {
        asn: "AS18403",
        source_country: "Vietnam",
        source_country_code: "VN",
        source_city: "Hanoi",
        domain: "",
        rdns_parent: "",
        rdns_validated: false,
        organization: "FPT",
        category: "",
        rdns: "x.example.org",
        os: "",
        sensor_count: 2,
        sensor_hits: 3,
        region: "",
        mobile: false,
        single_destination: false,
        destination_countries: [],
        destination_country_codes: [],
        destination_asns: [],
        destination_cities: [],
        carrier: "",
        datacenter: "",
        longitude: 0,
        latitude: 0,
      },
      raw_data: {
        scan: [
          { port: 80, protocol: "tcp" },
          { port: 445, protocol: "tcp" },
        ],
        ja3: [{ fingerprint: "j3", port: 80 }],
        hassh: [{ fingerprint: "hs", port: 80 }],
        http: {
          md5: [],
          cookie_keys: [],
          request_authorization: [],
          request_cookies: [],
          request_header: [],
          method: ["GET", "POST"],
          path: ["/a", "/b"],
          request_origin: [],
          useragent: ["curl"],
        },
        source: { bytes: 0 },
        tls: { cipher: [], ja4: ["j4"] },
        ssh: { key: [] },
      },
      last_seen_timestamp: new Date(LAST).toISOString().slice(0, 19).replace("T", " "),
    },
  };
}

test("a noisy address is told with everything its observations say, duplicates counted once", async () => {
  expect(await world.get("/v3/ip/45.0.0.1")).toEqual({
    status: 200,
    body: { ...fullAnswer(), request_metadata: { restricted_fields: [] } },
  });
});

test("a benign service is told with what its list says", async () => {
  expect((await world.get("/v3/ip/8.8.8.8")).body).toEqual({
    ip: "8.8.8.8",
    business_service_intelligence: {
      found: true,
      category: "public_dns",
      name: "Some DNS",
      description: "Resolvers.",
      explanation: "They resolve.",
      last_updated: `${new Date(NOW).toISOString().slice(0, 19)}Z`,
      reference: "https://example.org",
      trust_level: "1",
    },
    internet_scanner_intelligence: NO_SCANNER,
    request_metadata: { restricted_fields: [] },
  });
});

test("an unknown address is a 200 with every member there and none of them null", async () => {
  expect(await world.get("/v3/ip/45.0.0.2")).toEqual({
    status: 200,
    body: {
      ip: "45.0.0.2",
      business_service_intelligence: NO_SERVICE,
      internet_scanner_intelligence: NO_SCANNER,
      request_metadata: { restricted_fields: [] },
    },
  });
});

test.each(["true", "True", "1"])("quick=%s tells whether and what", async (quick) => {
  expect((await world.get(`/v3/ip/45.0.0.1?quick=${quick}`)).body).toEqual({
    ip: "45.0.0.1",
    business_service_intelligence: { found: false, trust_level: "" },
    internet_scanner_intelligence: { found: true, classification: "malicious" },
    request_metadata: { restricted_fields: [] },
  });
});

test.each(["10.0.0.1", "1.2.3", "::1", "x"])("the address %s is refused", async (ip) => {
  expect(await world.get(`/v3/ip/${ip}`)).toEqual({ status: 400, body: { message: "Invalid parameter: ip" } });
});

test("any scope without the entitlement is 403; with it an unrecognized one yields empty results", async () => {
  const key = await world.addCaller("unlimited");
  for (const label of ["global", "nonsense"]) {
    expect((await world.get(`/v3/ip/45.0.0.1?workspace_labels=${label}`, { key })).status).toBe(403);
  }
  expect((await world.get("/v3/ip/45.0.0.1?workspace_labels=nonsense")).body).toMatchObject({
    internet_scanner_intelligence: NO_SCANNER,
  });
  const both = await world.get("/v3/ip/45.0.0.1?workspace_labels=global,community");
  expect(both.body).toMatchObject({ internet_scanner_intelligence: { metadata: { sensor_count: 3, sensor_hits: 4 } } });
});

test("many addresses: found ones in full, the others named, each string once and as it was sent", async () => {
  const ips = ["45.0.0.1", "8.8.8.8", "45.0.0.2", "not an address", "45.0.0.1", "10.0.0.1", " 45.0.0.1"];
  const { status, body } = await world.post("/v3/ip", { ips });
  expect(status).toBe(200);
  const answer = z.object({ data: z.array(z.object({ ip: z.string() })), request_metadata: z.unknown() }).parse(body);
  expect(answer.data.map(({ ip }) => ip)).toEqual(["45.0.0.1", "8.8.8.8"]);
  expect(body).toMatchObject({ data: [fullAnswer(), {}] });
  expect(answer.request_metadata).toEqual({
    restricted_fields: [],
    message: "",
    ips_not_found: ["45.0.0.2", "not an address", "10.0.0.1", " 45.0.0.1"],
  });
  expect((await world.post("/v3/ip", { ips: ["45.0.0.1"] })).body).toMatchObject({
    request_metadata: { ips_not_found: [] },
  });
});

test("10,000 addresses are all accounted for; bodies that are anything else are 400", async () => {
  const ips = Array.from({ length: 10_000 }, (_, index) => `46.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
  const { status, body } = await world.post("/v3/ip", { ips: [...ips.slice(1), "45.0.0.1"] });
  expect(status).toBe(200);
  const answer = z
    .object({ data: z.array(z.unknown()), request_metadata: z.object({ ips_not_found: z.array(z.string()) }) })
    .parse(body);
  expect(answer.data).toHaveLength(1);
  expect(answer.request_metadata.ips_not_found).toEqual(ips.slice(1));
  for (const bad of [{}, { ips: [] }, { ips: [...ips, "1.1.1.1"] }, { ips: [1] }, [], "{", '{"ips":"1.1.1.1"}']) {
    expect((await world.post("/v3/ip", bad)).status).toBe(400);
  }
  expect(await world.post("/v3/ip", { ips: ["x".repeat(1_100_000)] })).toEqual({
    status: 400,
    body: { message: "The request body is larger than 1 MiB" },
  });
});

const hourOf = (time: number) => `${new Date(Math.floor(time / HOUR) * HOUR).toISOString().slice(0, 19)}Z`;
const dayOf = (time: number) => `${day(time)}T00:00:00Z`;

test("a timeline counts distinct observations per bucket and label, newest first", async () => {
  const at = async (query: string) => (await world.get(`/v3/noise/ips/45.0.0.1/timeline?${query}`)).body;
  expect(await at("days=90&field=destination_port&granularity=1h")).toEqual({
    metadata: {
      ip: "45.0.0.1",
      field: "destination_port",
      first_seen: day(FIRST),
      granularity: "1h",
      metric: "count",
      start: `${new Date(NOW - 90 * 24 * HOUR).toISOString().slice(0, 19)}Z`,
      end: `${new Date(NOW).toISOString().slice(0, 19)}Z`,
    },
    results: [
      { data: 1, label: "80", timestamp: hourOf(LAST) },
      { data: 1, label: "80", timestamp: hourOf(LAST - HOUR) },
      { data: 1, label: "445", timestamp: hourOf(FIRST) },
    ],
  });
  expect(await at("days=90&granularity=90d")).toMatchObject({ metadata: { field: "classification" } });
  expect(await at("days=60&granularity=1h")).toMatchObject({
    results: [
      { label: "malicious", timestamp: hourOf(LAST) },
      { label: "unknown", timestamp: hourOf(LAST - HOUR) },
      { label: "suspicious", timestamp: hourOf(FIRST) },
    ],
  });
  expect(await at("days=60&field=source_org")).toMatchObject({
    results: [
      { data: 1, label: "FPT", timestamp: dayOf(LAST) },
      { data: 1, label: "Old Org", timestamp: dayOf(FIRST) },
    ],
  });
  expect(await at("field=source_asn")).toMatchObject({ results: [{ data: 1, label: "AS18403" }] });
});

test("the timeline of an address without activity is empty, and bad parameters name themselves", async () => {
  expect(await world.get("/v3/noise/ips/45.0.0.2/timeline")).toMatchObject({
    status: 200,
    body: { metadata: { first_seen: "" }, results: [] },
  });
  for (const query of [
    "days=0",
    "field=nothing",
    "granularity=25h",
    "granularity=91d",
    "granularity=0d",
    "workspace_labels=x",
  ]) {
    expect(await world.get(`/v3/noise/ips/45.0.0.1/timeline?${query}`)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(query.split("=")[0] ?? "?") },
    });
  }
  expect((await world.get("/v3/noise/ips/45.0.0.1/timeline?workspace_labels=personal", {})).status).toBe(400);
  expect((await world.get("/v3/noise/ips/45.0.0.1/timeline?workspace_labels=community", {})).status).toBe(200);
});

test("riot, context and metadata of the earlier version answer in their flat forms", async () => {
  expect((await world.get("/v2/riot/8.8.8.8")).body).toMatchObject({
    ip: "8.8.8.8",
    riot: true,
    name: "Some DNS",
    trust_level: "1",
  });
  expect((await world.get("/v2/riot/45.0.0.1")).body).toEqual({ ip: "45.0.0.1", riot: false });
  const { tags, cves, ...full } = fullAnswer().internet_scanner_intelligence;
  const { first_seen, last_seen, actor, classification, metadata, raw_data: raw } = full;
  const flat = {
    ip: "45.0.0.1",
    seen: true,
    ...{ first_seen, last_seen, actor, classification, spoofable: false, bot: false, vpn: false, vpn_service: "" },
    tor: false,
    tags: tags.map(({ name }) => name),
    cve: cves,
    metadata: {
      asn: "AS18403",
      organization: "FPT",
      category: "",
      city: "Hanoi",
      country: "Vietnam",
      country_code: "VN",
      source_country: "Vietnam",
      source_country_code: "VN",
      region: "",
      rdns: "x.example.org",
      os: "",
      tor: false,
      sensor_count: metadata.sensor_count,
      sensor_hits: metadata.sensor_hits,
      destination_countries: [],
      destination_country_codes: [],
    },
    raw_data: {
      scan: raw.scan.map(({ port }) => ({ port, protocol: "TCP" })),
      web: { paths: ["/a", "/b"], useragents: ["curl"] },
      ja3: raw.ja3,
      hassh: raw.hassh,
    },
  };
  expect((await world.get("/v2/noise/context/45.0.0.1")).body).toEqual(flat);
  const ips = ["45.0.0.2", "45.0.0.1", "8.8.8.8", "no address", "45.0.0.1"];
  expect((await world.post("/v2/noise/multi/context", { ips })).body).toEqual({ message: "ok", data: [flat] });
  expect((await world.get("/v2/noise/context/45.0.0.2")).body).toEqual({ ip: "45.0.0.2", seen: false });
  const today = z.object({ tags: z.array(z.unknown()) }).parse((await world.get("/v3/tags")).body);
  expect((await world.get("/v2/meta/metadata")).body).toEqual({ metadata: today.tags });
});
