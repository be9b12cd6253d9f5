import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { networkList } from "../support/builders/network-list.ts";
import { makeApp } from "../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../support/worlds/world.ts";

const NOW = Date.now();
const worm = makeTag("worm", "malicious");
const [NOISE, RIOT, UNKNOWN] = ["45.0.0.1", "8.8.8.8", "45.9.9.9"];
let world: World;

beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([worm]);
  await world.replaceNetworks("service", [networkList("dns", ["8.8.8.0/24"])]);
  const seen = { observed_at: new Date(NOW - 60_000).toISOString(), sensor_id: "s" };
  const crowd = Array.from({ length: 110 }, (_, n) => `46.0.0.${n}`);
  await world.store([NOISE, ...crowd].map((ip) => ({ ...seen, source_ip: ip })));
});
afterAll(() => world.close());

let callers = 0;
/** A caller without a key, with an address of its own. */
function newCaller() {
  const remoteAddress = `100.64.0.${callers++}`;
  let remaining = 100;
  const ask = (path: string, ips?: readonly string[], headers: Record<string, string> = {}) =>
    world.app.inject({
      method: ips === undefined ? "GET" : "POST",
      url: path,
      remoteAddress,
      headers,
      ...(ips === undefined ? {} : { payload: JSON.stringify({ ips }) }),
    });
  return {
    ask,
    async costOf(path: string, ips?: readonly string[], headers?: Record<string, string>) {
      const answer = await ask(path, ips, headers);
      const left = answer.headers["ratelimit-remaining"];
      const cost = left === undefined ? "none" : remaining - Number(left);
      if (left !== undefined) remaining = Number(left);
      return [answer.statusCode, cost];
    },
  };
}

const SINGLE = ["/v3/community/", "/v3/ip/", "/v2/noise/quick/", "/v2/riot/", "/v2/noise/context/"];
const detailsOf = (ip: string) =>
  ["timeline", "tags", "interaction"].map((details) => `/v3/noise/ips/${ip}/${details}`);
const BULK = ["/v3/ip", "/v3/ip?quick=true", "/v2/noise/multi/quick", "/v2/noise/multi/context"];

test("each address of an answer is a lookup, found or not, in every operation", async () => {
  const caller = newCaller();
  for (const ip of [NOISE, RIOT, UNKNOWN]) {
    for (const path of SINGLE) {
      const status = path === "/v3/community/" && ip === UNKNOWN ? 404 : 200;
      expect([path, ip, ...(await caller.costOf(path + ip))]).toEqual([path, ip, status, 1]);
    }
    for (const path of detailsOf(ip)) expect([path, ...(await caller.costOf(path))]).toEqual([path, 200, 1]);
    expect(await caller.costOf(`/v3/ip/${ip}?quick=true`)).toEqual([200, 1]);
  }
});

test("a request for many addresses is one lookup for each distinct routable one", async () => {
  const caller = newCaller();
  for (const path of BULK) {
    expect([path, ...(await caller.costOf(path, [NOISE, NOISE, RIOT, UNKNOWN, "x", "10.0.0.1"]))]).toEqual([
      path,
      200,
      3,
    ]);
    expect([path, ...(await caller.costOf(path, ["x", "10.0.0.1"]))]).toEqual([path, 200, 0]);
  }
  const ips = `${NOISE},${NOISE},${RIOT},${UNKNOWN},x,10.0.0.1`;
  expect(await caller.costOf(`/v2/noise/multi/quick?ips=${ips}`)).toEqual([200, 3]);
});

test("a network is one lookup for each address that is listed, and one if none is", async () => {
  const caller = newCaller();
  expect(await caller.costOf("/v3/noise/networks/45.0.0.0/24")).toEqual([200, 1]);
  expect(await caller.costOf("/v3/noise/networks/45.9.9.0/24")).toEqual([200, 1]);
  expect(await caller.costOf("/v3/noise/networks/46.0.0.0/24?limit=3")).toEqual([200, 3]);
  expect(await caller.costOf("/v3/noise/networks/46.0.0.0/24?limit=1000")).toEqual([429, 0]);
  expect(await caller.costOf("/v3/noise/networks/46.0.0.0/24?limit=95")).toEqual([200, 95]);
  expect(await caller.costOf("/v3/noise/networks/45.0.0.0/24")).toEqual([429, 0]);
});

test("rejected requests, tags, tag activity and everything else that is no lookup cost nothing", async () => {
  const caller = newCaller();
  expect(await caller.costOf(`/v3/community/${NOISE}`)).toEqual([200, 1]);
  const free: [string, number, (readonly string[])?][] = [
    ["/v3/tags", 200],
    ["/v2/meta/metadata", 200],
    [`/v3/tags/${worm.id}/activity`, 200],
    ["/v3/summary/tags", 200],
    ["/v3/stats/hours", 200],
    ["/v3/stats/networks", 200],
    ["/v3/stats/countries", 200],
    ["/v3/stats/networks/AS64500", 200],
    ["/v3/stats/countries/DE", 200],
    ["/v3/stats/classifications", 200],
    ["/v3/stats/first-seen", 200],
    ["/v3/today", 200],
    ["/ping", 401],
    [`/v3/noise/ips/${NOISE}/sensors`, 403],
    ["/v3/ip/10.0.0.1", 400],
    ["/v3/noise/networks/45.0.0.0/15", 400],
    [`/v3/ip/${NOISE}?quick=perhaps`, 400],
    [`/v3/ip/${NOISE}?workspace_labels=global`, 403],
    ...detailsOf(NOISE).map((path): [string, number] => [`${path}?workspace_labels=personal`, 400]),
    [`/v3/noise/ips/${NOISE}/timeline?days=0`, 400],
    ["/v3/ip?workspace_labels=global", 403, [NOISE]],
    ["/v3/ip", 400, []],
    ["/v2/noise/context/10.0.0.1", 400],
    ["/v2/noise/multi/quick", 400],
    ["/v2/meta/ping", 401],
    [`/v3/tags/${worm.slug}/activity`, 200],
  ];
  for (const [path, status, ips] of free) {
    expect([path, ...(await caller.costOf(path, ips))]).toEqual([path, status, "none"]);
  }
  for (const path of [...SINGLE.map((path) => path + NOISE), ...detailsOf(NOISE)]) {
    expect([path, ...(await caller.costOf(path, undefined, { key: "made-up" }))]).toEqual([path, 401, "none"]);
  }
  expect(await caller.costOf("/v2/noise/quick/10.0.0.1"), "an answer without addresses").toEqual([200, 0]);
  expect(await caller.costOf(`/v3/community/${NOISE}`)).toEqual([200, 1]);
});

const LIMIT_REACHED = {
  plan: "unauthenticated",
  "rate-limit": "100-lookups/day",
  plan_url: "http://noisefloor.test/plans",
};

test("more addresses than are left are a 429 as a whole, which costs nothing and says how many are left", async () => {
  const caller = newCaller();
  const ips = Array.from({ length: 61 }, (_, n) => `45.1.0.${n}`);
  expect(await caller.costOf("/v3/ip", ips.slice(1))).toEqual([200, 60]);
  for (const path of BULK) {
    const rejected = await caller.ask(path, ips.slice(0, 41));
    expect([path, rejected.statusCode, rejected.headers["ratelimit-remaining"]]).toEqual([path, 429, "40"]);
    expect(rejected.json()).toEqual({
      ...LIMIT_REACHED,
      message: expect.stringMatching(/^This request takes 41 lookups, and 40 of your 100 per day are left\. /),
    });
  }
  expect(await caller.costOf("/v3/ip", ips.slice(0, 40))).toEqual([200, 40]);
});

test("a caller without lookups left gets no record of an address from any operation, but all other answers", async () => {
  const caller = newCaller();
  await caller.ask(
    "/v3/ip",
    Array.from({ length: 100 }, (_, n) => `45.1.0.${n}`),
  );
  for (const path of [...SINGLE.map((single) => single + NOISE), ...detailsOf(NOISE), ...BULK]) {
    const rejected = await caller.ask(path, BULK.includes(path) ? [NOISE] : undefined);
    expect([path, rejected.statusCode, rejected.headers["retry-after"]]).toEqual([path, 429, undefined]);
    expect(rejected.headers).toMatchObject({ "ratelimit-limit": "100", "ratelimit-remaining": "0" });
    expect(Number(rejected.headers["ratelimit-reset"])).toBeGreaterThan(0);
    expect(rejected.json()).toEqual({
      ...LIMIT_REACHED,
      message: expect.stringMatching(/^You have hit your daily rate limit of 100 requests per day\. /),
    });
  }
  expect((await caller.ask("/v3/tags")).statusCode).toBe(200);
  expect((await caller.ask(`/v3/tags/${worm.id}/activity`)).statusCode).toBe(200);
  expect((await caller.ask("/v2/noise/quick/10.0.0.1")).statusCode, "no address in the answer").toBe(200);
  expect(
    (await caller.ask("/v3/ip/10.0.0.1")).statusCode,
    "an invalid address is a 400 even without lookups left",
  ).toBe(400);
});

test("of concurrent requests for many addresses no more are answered than the limit allows", async () => {
  const caller = newCaller();
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      caller.ask(
        BULK[n % BULK.length] ?? "/v3/ip",
        Array.from({ length: 30 }, (_, m) => `45.1.${n}.${m}`),
      ),
    ),
  );
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([
    ...Array.from({ length: 3 }, () => 200),
    ...Array.from({ length: 9 }, () => 429),
  ]);
});

test("lookups whose answer does not fit in memory cost nothing", async () => {
  const app = await makeApp(QUERY_OPERATIONS, (made, metrics) => world.register(made, metrics), {
    limits: { responseMemoryBytes: 4 * 1_024 },
  });
  const ask = (ips: readonly string[]) =>
    app.inject({ method: "POST", url: "/v2/noise/multi/quick", payload: JSON.stringify({ ips }) });
  const tooLarge = await ask(Array.from({ length: 90 }, (_, n) => `45.1.0.${n}`));
  expect(tooLarge.statusCode).toBe(503);
  expect((await ask([NOISE])).headers["ratelimit-remaining"]).toBe("99");
  await app.close();
});

const PLANS = [
  { name: "unauthenticated", lookups_per_day: 100, reach_days: 1 },
  { name: "community", lookups_per_day: 1_000, reach_days: 10 },
  { name: "standard", lookups_per_day: 10_000, reach_days: 30 },
  { name: "unlimited", reach_days: 90 },
];

test("the plans are those configured, with what the caller has left, and asking costs nothing", async () => {
  const key = await world.addCaller("standard", ["community_dataset"]);
  const limits = { lookups_per_day: 10_000, reach_days: 30 };
  const caller = { plan: "standard", entitlements: ["community_dataset"], ...limits };
  for (const left of [10_000, 9_999, 9_998]) {
    for (const _again of [1, 2]) {
      const { status, body } = await world.get("/v3/plans", { key });
      expect([status, body]).toEqual([200, { plans: PLANS, caller: { ...caller, lookups_left: left } }]);
    }
    await world.get("/v3/community/45.0.0.1", { key });
  }
});

test("a plan without a limit has no number of lookups, and no key is the plan unauthenticated", async () => {
  const key = await world.addCaller("unlimited");
  const { body } = await world.get("/v3/plans", { key });
  expect(body).toEqual({ plans: PLANS, caller: { plan: "unlimited", entitlements: [], reach_days: 90 } });
  const limits = { lookups_per_day: 100, lookups_left: 100, reach_days: 1 };
  const stranger = { plan: "unauthenticated", entitlements: [], ...limits };
  expect((await newCaller().ask("/v3/plans")).json()).toEqual({ plans: PLANS, caller: stranger });
  expect((await world.get("/v3/plans", { key: "made-up" })).status).toBe(401);
});
