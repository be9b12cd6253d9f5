import { parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import { expect } from "vitest";
import { createWorld, makeTag, type World } from "../worlds/world.ts";

const HOUR = 3_600_000;
/** How long ago the address 45.0.0.1 was seen first and last. */
export const FIRST_AGE_MS = 30 * 24 * HOUR;
export const LAST_AGE_MS = 2 * HOUR;

const worm = makeTag("worm", "malicious", { cves: ["CVE-2026-0002", "CVE-2026-0001"], description: "A worm." });
const probe = makeTag("probe", "suspicious", { cves: ["CVE-2026-0001"] });

export const dateOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/** A world in which 45.0.0.1 is noise, 8.8.8.8 is a benign service and 45.0.0.2 was never seen. */
export async function openAddressWorld(now: number): Promise<World> {
  const world = await createWorld(() => now);
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
  await world.replaceNetworks("service", [list]);
  const base = { source_ip: "45.0.0.1", transport: "tcp" };
  const rich = {
    ...base,
    observation_id: "same",
    observed_at: new Date(now - LAST_AGE_MS).toISOString(),
    sensor_id: "s2",
    destination_port: 80,
    tags: ["worm", "probe"],
    asn: 18_403,
    organization: "FPT",
    country: "VN",
    region: "Hanoi Region",
    city: "Hanoi",
    latitude: 21.0292,
    longitude: 105.8526,
    rdns: "x.example.org",
    http: {
      method: "GET",
      path: "/b",
      user_agent: "curl",
      headers: ["Host", "User-Agent", "Cookie"],
      cookies: ["session"],
    },
    tls: { ja3: "j3", ja4: "j4" },
    ssh: { hassh: "hs" },
  };
  const old = { asn: 64_500, organization: "Old Org", country: "DE", tags: ["probe"], destination_port: 445 };
  const post = { method: "POST", path: "/a" };
  const { rejected } = await world.store([
    { ...base, ...old, observed_at: new Date(now - FIRST_AGE_MS).toISOString(), sensor_id: "s1" },
    rich,
    {
      ...base,
      observed_at: new Date(now - LAST_AGE_MS - HOUR).toISOString(),
      sensor_id: "s2",
      destination_port: 80,
      http: post,
    },
    {
      ...base,
      observed_at: new Date(now - LAST_AGE_MS).toISOString(),
      sensor_id: "s9",
      destination_port: 9,
      dataset: "community",
    },
  ]);
  await world.store([rich]);
  expect(rejected).toEqual([]);
  return world;
}

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
/** The record of an address that is on no list of services. */
export const NO_SERVICE = {
  found: false,
  category: "",
  name: "",
  description: "",
  explanation: "",
  last_updated: "",
  reference: "",
  trust_level: "",
};
/** The record of an address that was not seen. */
export const NO_SCANNER = {
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

/** The full answer for the address 45.0.0.1, from the datasets global and no other. */
export function fullAnswer(now: number) {
  const tags = [worm, probe].sort((a, b) => (a.id < b.id ? -1 : 1)).map(wireTag);
  return {
    ip: "45.0.0.1",
    business_service_intelligence: NO_SERVICE,
    internet_scanner_intelligence: {
      ...NO_SCANNER,
      first_seen: dateOf(now - FIRST_AGE_MS),
      last_seen: dateOf(now - LAST_AGE_MS),
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
        region: "Hanoi Region",
        mobile: false,
        single_destination: false,
        destination_countries: [],
        destination_country_codes: [],
        destination_asns: [],
        destination_cities: [],
        carrier: "",
        datacenter: "",
        longitude: 105.8526,
        latitude: 21.0292,
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
          cookie_keys: ["session"],
          request_authorization: [],
          request_cookies: [],
          request_header: ["Cookie", "Host", "User-Agent"],
          method: ["GET", "POST"],
          path: ["/a", "/b"],
          request_origin: [],
          useragent: ["curl"],
        },
        source: { bytes: 0 },
        tls: { cipher: [], ja4: ["j4"] },
        ssh: { key: [] },
      },
      last_seen_timestamp: new Date(now - LAST_AGE_MS).toISOString().slice(0, 19).replace("T", " "),
    },
  };
}
