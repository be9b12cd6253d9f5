import { afterAll, beforeAll, expect, test } from "vitest";
import { networkList } from "../support/builders/network-list.ts";
import { createServedWorld, type ServedWorld } from "../support/worlds/served-world.ts";
import { makeTag } from "../support/worlds/world.ts";

const DAY = 86_400_000;
const NOW = Date.now();
const today = new Date(NOW).toISOString().slice(0, 10);
const SEEN = NOW - 3 * DAY;
const worm = makeTag("worm", "malicious");
let world: ServedWorld;

beforeAll(async () => {
  world = await createServedWorld(() => NOW);
  await world.addTags([worm]);
  await world.replaceNetworks("service", [networkList("dns", ["8.8.8.0/24"], { name: "Some DNS" })]);
  const base = { observed_at: new Date(SEEN).toISOString(), sensor_id: "s", tags: ["worm"] };
  await world.store(["45.0.0.1", "8.8.8.9"].map((source_ip) => ({ ...base, source_ip })));
});
afterAll(() => world.close());

const lookUp = (ip: string, headers: Record<string, string> = {}) =>
  fetch(`${world.url}/v3/community/${ip}`, { headers });

/** Clients compare the text byte for byte, so the body is compared as text first. */
test("the text for an invalid address is the one clients compare with, byte for byte", async () => {
  const bad = [
    "10.0.0.1",
    "127.0.0.1",
    "224.0.0.1",
    "192.0.2.1",
    "1.2",
    "0x7f.1",
    "010.0.0.1",
    "::1",
    "::ffff:1.2.3.4",
  ];
  for (const ip of [...bad, "1.2.3.4%20", "x", "1.2.3.4.5", "256.1.1.1", "100.64.0.1", "198.18.0.1", "0.0.0.0"]) {
    const answer = await lookUp(ip);
    expect([ip, answer.status]).toEqual([ip, 400]);
    expect(await answer.text()).toBe('{"message":"Request is not a valid routable IPv4 address"}');
  }
});

test("a miss is an object with its four members and the text clients compare with, byte for byte", async () => {
  const answer = await lookUp("1.2.3.4");
  expect(answer.status).toBe(404);
  const said: unknown = JSON.parse(await answer.text());
  expect(said).toStrictEqual({
    ip: "1.2.3.4",
    noise: false,
    riot: false,
    message: "IP not observed scanning the internet or contained in RIOT data set.",
  });
});

test.each([
  ["noise", "45.0.0.1", { noise: true, riot: false, classification: "malicious", name: "unknown" }, "ip"],
  ["riot", "8.8.8.8", { noise: false, riot: true, classification: "benign", name: "Some DNS" }, "riot"],
  ["both", "8.8.8.9", { noise: true, riot: true, classification: "malicious", name: "Some DNS" }, "riot"],
])("a hit has all eight members: %s", async (_kind, ip, expected, page) => {
  const answer = await lookUp(ip);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toStrictEqual({
    ip,
    ...expected,
    link: `http://noisefloor.test/${page}/${ip}`,
    last_seen: expected.noise ? new Date(SEEN).toISOString().slice(0, 10) : today,
    message: "Success",
  });
});

test("at the limit: 429 with its four members, RateLimit-* fields and no Retry-After, and rejected lookups cost nothing", async () => {
  const limited = await createServedWorld(() => NOW);
  try {
    const ask = (ip: string, headers: Record<string, string> = {}) =>
      fetch(`${limited.url}/v3/community/${ip}`, { headers });
    const most = await Promise.all(Array.from({ length: 96 }, () => ask("1.2.3.4")));
    expect(most.map(({ status }) => status)).toEqual(most.map(() => 404));
    for (let used = 97; used <= 100; used++) {
      const answer = await ask("1.2.3.4");
      expect([answer.status, answer.headers.get("ratelimit-remaining")]).toEqual([404, String(100 - used)]);
      await answer.body?.cancel();
    }
    for (let again = 0; again < 3; again++) {
      const rejected = await ask("1.2.3.4");
      expect(rejected.status).toBe(429);
      expect(rejected.headers.get("content-type")).toMatch(/^application\/json/);
      expect(rejected.headers.get("retry-after"), "clients would sleep for it").toBeNull();
      expect(rejected.headers.get("ratelimit-limit")).toBe("100");
      expect(rejected.headers.get("ratelimit-remaining")).toBe("0");
      expect(Number(rejected.headers.get("ratelimit-reset"))).toBeGreaterThan(0);
      expect(await rejected.json()).toStrictEqual({
        plan: "unauthenticated",
        "rate-limit": "100-lookups/day",
        plan_url: "http://noisefloor.test/plans",
        message: expect.stringMatching(/^You have hit your daily rate limit of 100 requests per day\. \S/),
      });
    }
    expect((await ask("10.0.0.1")).status, "an invalid address is a 400 even at the limit").toBe(400);
    expect((await ask("1.2.3.4", { key: "not-known" })).status, "the key is checked before the limit").toBe(401);
    const key = await limited.addCaller("community");
    const withKey = await ask("1.2.3.4", { key });
    expect([withKey.status, withKey.headers.get("ratelimit-remaining")]).toEqual([404, "999"]);
    expect((await fetch(`${limited.url}/v3/tags`)).status, "the limit counts lookups").toBe(200);
  } finally {
    await limited.close();
  }
});

test("X-Forwarded-For from a client that is not a configured proxy does not give it a fresh limit", async () => {
  const remaining = async (forwarded: string) =>
    Number((await lookUp("1.2.3.4", { "x-forwarded-for": forwarded })).headers.get("ratelimit-remaining"));
  const first = await remaining("203.0.113.1");
  expect(await remaining("203.0.113.2")).toBe(first - 1);
});
