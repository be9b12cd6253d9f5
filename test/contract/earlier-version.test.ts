import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { networkList } from "../support/builders/network-list.ts";
import { createServedWorld, type ServedWorld } from "../support/worlds/served-world.ts";
import { makeTag } from "../support/worlds/world.ts";

const NOW = Date.now();
const worm = makeTag("worm", "malicious", { name: "Worm", cves: ["CVE-2026-0001"] });
let world: ServedWorld;
let key: string;

beforeAll(async () => {
  world = await createServedWorld(() => NOW);
  await world.addTags([worm]);
  await world.replaceNetworks("service", [networkList("dns", ["8.8.8.0/24"], { name: "Some DNS" })]);
  key = await world.addCaller("standard");
  const said = { observed_at: new Date(NOW - 60_000).toISOString(), sensor_id: "s", tags: ["worm"] };
  const more = {
    ...{ destination_port: 80, transport: "tcp", country: "VN", http: { path: "/", user_agent: "curl/8" } },
    ...{ tls: { ja3: "j3" }, ssh: { hassh: "hs" } },
  };
  await world.store([
    { ...said, ...more, source_ip: "45.0.0.1" },
    { ...said, source_ip: "45.0.0.2", destination_port: 80, transport: "tcp" },
    { ...said, source_ip: "8.8.8.9" },
  ]);
});
afterAll(() => world.close());

async function get(path: string, headers: Record<string, string> = { key }) {
  const answer = await fetch(world.url + path, { headers });
  const body: unknown = await answer.json();
  return { status: answer.status, body };
}

const CODES = [
  { ip: "45.9.9.9", noise: false, riot: false, code: "0x00" },
  { ip: "45.0.0.1", noise: true, riot: false, code: "0x01" },
  { ip: "45.0.0.2", noise: true, riot: false, code: "0x02" },
  { ip: "10.0.0.1", noise: false, riot: false, code: "0x07" },
  { ip: "8.8.8.8", noise: false, riot: true, code: "0x09" },
  { ip: "8.8.8.9", noise: true, riot: true, code: "0x10" },
];

test("ping with a key has its plan, and a day ahead on which it expires", async () => {
  const { status, body } = await get("/ping");
  expect(status).toBe(200);
  expect(body).toStrictEqual({
    message: "pong",
    expiration: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    offering: "enterprise",
    address: "127.0.0.1",
    plan: "standard",
    modules: "",
  });
  const { expiration } = z.object({ expiration: z.string() }).parse(body);
  expect(Date.parse(expiration)).toBeGreaterThan(NOW);
});

test("ping without a key, with an empty one or with an unknown one is 401", async () => {
  for (const headers of [{}, { key: "" }, { key: "not-known" }]) {
    expect(await get("/ping", headers)).toEqual({ status: 401, body: { message: "Unauthorized" } });
  }
});

test.each(CODES)("the quick lookup of $ip is $code", async (expected) => {
  expect(await get(`/v2/noise/quick/${expected.ip}`)).toEqual({ status: 200, body: expected });
});

test("the quick lookup of many answers with an array, in the order asked, each once", async () => {
  const headers = { key, "content-type": "application/json" };
  const ips = [...CODES, ...CODES].map(({ ip }) => ip);
  const answer = await fetch(`${world.url}/v2/noise/multi/quick`, {
    method: "POST",
    headers,
    body: JSON.stringify({ ips }),
  });
  expect([answer.status, await answer.json()]).toEqual([200, CODES]);
});

test.each(["ips=%s", "ips=,%s,", "ips= %s"])(
  "the quick lookup of many by %s answers as the one by POST does",
  async (query) => {
    const ips = [...CODES, ...CODES].map(({ ip }) => ip).join(", ");
    expect(await get(`/v2/noise/multi/quick?${query.replace("%s", ips)}`)).toEqual({ status: 200, body: CODES });
  },
);

test("without addresses it is a 400 that says what it takes", async () => {
  for (const query of ["", "?ips=", "?ips=,", `?ips=${CODES[0]?.ip}&ips=${CODES[1]?.ip}`]) {
    const { status, body } = await get(`/v2/noise/multi/quick${query}`);
    expect([query, status]).toEqual([query, 400]);
    expect(body).toEqual({ message: expect.stringMatching(/\bips\b/) });
  }
});

test("ping under its earlier path is the same, also without a valid key", async () => {
  expect(await get("/v2/meta/ping")).toEqual(await get("/ping"));
  expect(await get("/v2/meta/ping", {})).toEqual({ status: 401, body: { message: "Unauthorized" } });
});

test("riot: a hit with the list's description, a miss with riot: false", async () => {
  expect(await get("/v2/riot/8.8.8.8")).toEqual({
    status: 200,
    body: {
      ip: "8.8.8.8",
      riot: true,
      category: "cloud",
      name: "Some DNS",
      description: "",
      explanation: "",
      last_updated: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      reference: "",
      trust_level: "1",
    },
  });
  expect(await get("/v2/riot/45.0.0.1")).toEqual({ status: 200, body: { ip: "45.0.0.1", riot: false } });
});

const SEEN = {
  ip: "45.0.0.1",
  seen: true,
  first_seen: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
  last_seen: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
  actor: "unknown",
  classification: "malicious",
  spoofable: false,
  bot: false,
  vpn: false,
  vpn_service: "",
  tor: false,
  tags: ["Worm"],
  cve: ["CVE-2026-0001"],
  metadata: {
    asn: "",
    organization: "",
    category: "",
    city: "",
    country: "Vietnam",
    country_code: "VN",
    source_country: "Vietnam",
    source_country_code: "VN",
    region: "",
    rdns: "",
    os: "",
    tor: false,
    sensor_count: 1,
    sensor_hits: 1,
    destination_countries: [],
    destination_country_codes: [],
  },
  raw_data: {
    scan: [{ port: 80, protocol: "TCP" }],
    web: { paths: ["/"], useragents: ["curl/8"] },
    ja3: [{ fingerprint: "j3", port: 80 }],
    hassh: [{ fingerprint: "hs", port: 80 }],
  },
};

test("context: the earlier version's own shape, every member there; a miss with seen: false; many as a list of the seen", async () => {
  const { status, body } = await get("/v2/noise/context/45.0.0.1");
  expect(status).toBe(200);
  expect(body).toStrictEqual(SEEN);
  expect(await get("/v2/noise/context/45.9.9.9")).toEqual({ status: 200, body: { ip: "45.9.9.9", seen: false } });
  const ips = ["45.9.9.9", "45.0.0.1", "8.8.8.8", "x", "45.0.0.1"];
  const many = await fetch(`${world.url}/v2/noise/multi/context`, {
    method: "POST",
    headers: { key },
    body: JSON.stringify({ ips }),
  });
  expect([many.status, await many.json()]).toStrictEqual([200, { message: "ok", data: [SEEN] }]);
});
