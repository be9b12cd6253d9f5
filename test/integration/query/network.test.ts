import { afterAll, beforeAll, expect, test } from "vitest";
import { networkList } from "../../support/builders/network-list.ts";
import { rfc3339 } from "../../support/oracle/oracle.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const SEEN = NOW - 60_000;
const worm = makeTag("worm", "malicious");
const probe = makeTag("probe", "suspicious");
/** More than an answer lists. */
const CROWD = 1_003;
let world: World;

beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([worm, probe]);
  await world.replaceNetworks("actor", [networkList("census", ["45.1.0.4/32"])]);
  const seen = { observed_at: new Date(SEEN).toISOString(), sensor_id: "s" };
  const { rejected } = await world.store([
    { ...seen, source_ip: "45.0.255.255", tags: ["worm"] },
    { ...seen, source_ip: "45.1.0.0", tags: ["worm", "probe"] },
    { ...seen, source_ip: "45.1.0.0", tags: [], observed_at: new Date(SEEN + 30_000).toISOString() },
    { ...seen, source_ip: "45.1.0.3", tags: [] },
    { ...seen, source_ip: "45.1.0.4", tags: ["probe"] },
    { ...seen, source_ip: "45.1.0.9", tags: ["worm"], dataset: "community" },
    { ...seen, source_ip: "45.1.255.255", tags: ["probe"] },
    { ...seen, source_ip: "45.2.0.0", tags: ["worm"] },
    ...Array.from({ length: CROWD }, (_, n) => ({ ...seen, source_ip: `46.7.${n >> 8}.${n & 255}`, tags: ["probe"] })),
  ]);
  expect(rejected).toEqual([]);
});
afterAll(() => world.close());

const address = (ip: string, classification: string, tags: readonly string[], at = SEEN) => ({
  ip,
  classification,
  last_seen: rfc3339(at),
  tags,
});

test("a network's addresses are listed from its first to its last, as lookups show them", async () => {
  const listed = [
    address("45.1.0.0", "malicious", ["probe", "worm"], SEEN + 30_000),
    address("45.1.0.3", "unknown", []),
    address("45.1.0.4", "benign", ["probe"]),
    address("45.1.255.255", "suspicious", ["probe"]),
  ];
  const ask = async (path: string) => (await world.get(`/v3/noise/networks/${path}`)).body;
  const whole = { network: "45.1.0.0/16", ips: listed, total_ips: 4, truncated: false };
  expect(await ask("45.1.0.0/16")).toEqual(whole);
  expect(await ask("45.1.77.3/16"), "an address inside names it, too").toEqual(whole);
  expect(await ask("45.1.0.0/16?limit=2")).toEqual({ ...whole, ips: listed.slice(0, 2), truncated: true });
  expect(await ask("45.1.0.0/16?workspace_labels=community")).toEqual({
    ...{ network: "45.1.0.0/16", total_ips: 1, truncated: false },
    ips: [address("45.1.0.9", "malicious", ["worm"])],
  });
  expect(await ask("45.1.0.0/29")).toMatchObject({ total_ips: 3 });
  expect(await ask("45.1.255.255/32")).toMatchObject({ network: "45.1.255.255/32", ips: listed.slice(3) });
  expect(await ask("45.8.0.0/24")).toEqual({ network: "45.8.0.0/24", ips: [], total_ips: 0, truncated: false });
});

test("of more than 1,000 addresses the first 1,000 are listed, and all are counted", async () => {
  const { body } = await world.get("/v3/noise/networks/46.7.0.0/16?limit=1000");
  expect(body).toMatchObject({ total_ips: CROWD, truncated: true, ips: { length: 1_000 } });
  expect(body).toMatchObject({ ips: { 999: address("46.7.3.231", "suspicious", ["probe"]) } });
});

test("an invalid, too large or unrouted network is rejected", async () => {
  for (const [path, status] of [
    ["45.1.0.0/15", 400],
    ["45.1.0.0/33", 400],
    ["45.1.0.0/016", 400],
    ["45.1.0/16", 400],
    ["10.1.0.0/16", 400],
    ["192.0.2.0/24", 400],
    ["192.0.0.0/16", 200],
    ["45.1.0.0/16?limit=1001", 400],
    ["45.1.0.0/16?workspace_labels=x", 400],
    ["45.1.0.0/16?workspace_labels=personal", 400],
  ] as const) {
    expect([path, (await world.get(`/v3/noise/networks/${path}`, {})).status]).toEqual([path, status]);
  }
  expect((await world.get("/v3/noise/networks/45.1.0.0/16", { key: "made-up" })).status).toBe(401);
});
