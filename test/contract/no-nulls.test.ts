import { afterAll, beforeAll, expect, test } from "vitest";
import { networkList } from "../support/builders/network-list.ts";
import { createServedWorld, type ServedWorld } from "../support/worlds/served-world.ts";
import { makeTag } from "../support/worlds/world.ts";

const NOW = Date.now();
const worm = makeTag("worm", "malicious", { cves: ["CVE-2026-0001"] });
/** With all members, with none, of a service, of an actor, of a service that was seen, and unknown. */
const ADDRESSES = ["45.0.0.1", "45.0.0.2", "8.8.8.8", "45.2.0.1", "8.8.8.9", "45.9.9.9"];
let world: ServedWorld;
let key: string;

beforeAll(async () => {
  world = await createServedWorld(() => NOW);
  await world.addTags([worm]);
  await world.replaceNetworks("service", [networkList("dns", ["8.8.8.0/24"])]);
  await world.replaceNetworks("actor", [networkList("census", ["45.2.0.0/24"])]);
  key = await world.addCaller("unlimited", ["community_dataset"]);
  const least = { observed_at: new Date(NOW - 60_000).toISOString(), sensor_id: "s" };
  const much = {
    tags: ["worm"],
    transport: "tcp",
    destination_port: 443,
    http: { method: "GET", host: "h", path: "/", user_agent: "curl" },
    tls: { ja3: "j3", ja4: "j4" },
    ssh: { hassh: "hs", banner: "b" },
    asn: 64_500,
    organization: "Org",
    // A code that is not assigned, beside one with a name.
    country: "QZ",
    city: "City",
    rdns: "x.example.org",
  };
  await world.store([
    { ...least, ...much, source_ip: "45.0.0.1" },
    { ...least, source_ip: "45.0.0.2" },
    { ...least, ...much, country: "DE", source_ip: "45.2.0.1" },
    { ...least, source_ip: "8.8.8.9" },
  ]);
});
afterAll(() => world.close());

/** The paths of all nulls in an answer. */
function nullsIn(value: unknown, path: string): string[] {
  if (value === null) return [path];
  if (typeof value !== "object" || value === undefined) return [];
  return Object.entries(value).flatMap(([name, member]) => nullsIn(member, `${path}.${name}`));
}

async function check(answer: Response): Promise<void> {
  const body: unknown = await answer.json();
  expect([answer.url, nullsIn(body, "answer")]).toEqual([answer.url, []]);
  expect([answer.url, typeof body, body === null]).toEqual([answer.url, "object", false]);
}

test("no answer holds a null, for any address: clients call text and list methods without a check", async () => {
  const fields = ["classification", "destination_port", "http_path", "http_user_agent"];
  const more = ["source_asn", "source_org", "source_rdns", "tag_ids"];
  const ofAddresses = ADDRESSES.map((ip) => [
    `/v3/community/${ip}`,
    `/v3/ip/${ip}`,
    `/v3/ip/${ip}?quick=true`,
    `/v3/ip/${ip}?workspace_labels=nonsense`,
    ...[...fields, ...more].map((field) => `/v3/noise/ips/${ip}/timeline?days=90&field=${field}`),
    `/v3/noise/ips/${ip}/tags`,
    `/v3/noise/ips/${ip}/interaction`,
    `/v3/noise/ips/${ip}/observations`,
    `/v3/noise/ips/${ip}/sensors`,
    `/v3/noise/networks/${ip}/24`,
    `/v2/noise/quick/${ip}`,
    `/v2/riot/${ip}`,
    `/v2/noise/context/${ip}`,
  ]);
  const ofNoAddress = [
    "/v3/tags",
    "/v3/tags?slug=nothing",
    "/v3/summary/tags?days=7",
    "/v3/stats/hours?days=30",
    "/v3/stats/networks?days=90",
    "/v3/stats/countries?days=90",
    "/v3/stats/networks/AS64500",
    "/v3/stats/countries/QZ",
    "/v3/stats/classifications",
    "/v3/stats/first-seen",
    "/v1/cve/CVE-2026-0001",
    "/v3/gnql?query=NOT+port:1",
    "/v3/gnql/metadata?query=NOT+port:1",
    "/v3/gnql/count?query=NOT+port:1",
    "/v3/gnql/ips?query=NOT+port:1",
    "/v3/gnql/stats?query=NOT+port:1",
    "/v2/meta/metadata",
    "/ping",
    `/v3/tags/${worm.id}/activity?days=90`,
    `/v3/tags/${worm.id}/activity?include_ips=true&workspace_labels=personal`,
  ];
  const ask = async (path: string) => {
    const answer = await fetch(world.url + path, { headers: { key } });
    expect([path, answer.status]).toEqual([path, path === "/v3/community/45.9.9.9" ? 404 : 200]);
    await check(answer);
  };
  for (const paths of [...ofAddresses, ofNoAddress]) await Promise.all(paths.map(ask));
  const body = JSON.stringify({ ips: [...ADDRESSES, "x"] });
  for (const path of [
    "/v3/ip",
    "/v3/ip?quick=1",
    "/v3/ip?workspace_labels=nonsense",
    "/v2/noise/multi/quick",
    "/v2/noise/multi/context",
  ]) {
    const headers = { key, "content-type": "application/json" };
    const answer = await fetch(world.url + path, { method: "POST", headers, body });
    expect([path, answer.status]).toEqual([path, 200]);
    await check(answer);
  }
});
