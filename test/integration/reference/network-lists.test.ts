import { parseNetworkList } from "@noisefloor/cli/networks/network-list-file.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { replaceNetworkLists } from "@noisefloor/clickhouse/networks/networks.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { networkList } from "../../support/builders/network-list.ts";
import { observation } from "../../support/builders/observation.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const TODAY = new Date(NOW).toISOString().slice(0, 10);
let world: World;
beforeEach(async () => {
  world = await createWorld(() => NOW, { pollIntervalMs: 1_000 });
});
afterEach(() => world.close());

const seen = (ip: string, tags: readonly string[] = []) => observation(ip, NOW - 2 * 86_400_000, { tags });
const TWO_DAYS_AGO = new Date(NOW - 2 * 86_400_000).toISOString().slice(0, 10);

test("riot, noise, both and neither have the right fields", async () => {
  await world.addTags([makeTag("bad", "malicious")]);
  await world.replaceNetworks("service", [networkList("dns", ["8.8.8.0/24"])]);
  await world.store([seen("8.8.8.9", ["bad"]), seen("45.0.0.1", ["bad"]), seen("45.0.0.2")]);
  const asked = ["8.8.8.8", "8.8.8.9", "45.0.0.1", "45.0.0.2"];
  const answers = await Promise.all(asked.map((ip) => world.get(`/v3/community/${ip}`)));
  const base = { message: "Success" };
  const url = "http://noisefloor.test";
  expect(answers).toEqual([
    {
      status: 200,
      body: {
        ip: "8.8.8.8",
        noise: false,
        riot: true,
        classification: "benign",
        name: "Operator of dns",
        link: `${url}/riot/8.8.8.8`,
        last_seen: TODAY,
        ...base,
      },
    },
    {
      status: 200,
      body: {
        ip: "8.8.8.9",
        noise: true,
        riot: true,
        classification: "malicious",
        name: "Operator of dns",
        link: `${url}/riot/8.8.8.9`,
        last_seen: TWO_DAYS_AGO,
        ...base,
      },
    },
    {
      status: 200,
      body: {
        ip: "45.0.0.1",
        noise: true,
        riot: false,
        classification: "malicious",
        name: "unknown",
        link: `${url}/ip/45.0.0.1`,
        last_seen: TWO_DAYS_AGO,
        ...base,
      },
    },
    {
      status: 200,
      body: {
        ip: "45.0.0.2",
        noise: true,
        riot: false,
        classification: "unknown",
        name: "unknown",
        link: `${url}/ip/45.0.0.2`,
        last_seen: TWO_DAYS_AGO,
        ...base,
      },
    },
  ]);
});

test("an address of a known benign actor is benign, by the actor's name, in lookups and in aggregations", async () => {
  const bad = makeTag("bad", "malicious");
  await world.addTags([bad]);
  await world.replaceNetworks("actor", [networkList("census", ["45.0.0.0/30"], { name: "Census Project" })]);
  await world.store(["45.0.0.3", "45.0.0.4"].map((ip) => seen(ip, ["bad"])));
  expect((await world.get("/v3/community/45.0.0.3")).body).toMatchObject({
    classification: "benign",
    name: "Census Project",
  });
  expect((await world.get("/v3/community/45.0.0.4")).body).toMatchObject({
    classification: "malicious",
    name: "unknown",
  });
  expect((await world.get(`/v3/tags/${bad.id}/activity?days=7`)).body).toMatchObject({
    aggregations: { total_ips: 2, classification: { benign: 1, malicious: 1 } },
  });
});

test("importing again replaces a list: networks that it no longer has are riot no more, other lists are unchanged", async () => {
  await world.replaceNetworks(
    "service",
    [networkList("one", ["5.0.0.0/24", "5.0.1.0/24"]), networkList("two", ["6.0.0.0/24"])],
    NOW - 10 * 86_400_000,
  );
  await world.replaceNetworks("service", [networkList("one", ["5.0.1.0/24"])]);
  expect((await world.get("/v3/community/5.0.0.1")).status).toBe(404);
  expect((await world.get("/v3/community/5.0.1.1")).body).toMatchObject({ riot: true, last_seen: TODAY });
  expect((await world.get("/v3/community/6.0.0.1")).body).toMatchObject({
    riot: true,
    last_seen: new Date(NOW - 10 * 86_400_000).toISOString().slice(0, 10),
  });
});

test("of overlapping networks the longest prefix wins, then the list's priority: random lists against brute force", async () => {
  const random = seeded(7);
  const lists = Array.from({ length: 6 }, (_, index) =>
    networkList(
      `list-${index}`,
      Array.from({ length: 40 }, () => randomNetwork(random)),
      { priority: index % 3 },
    ),
  );
  await world.replaceNetworks("service", lists);
  const asked = Array.from({ length: 400 }, () => `45.10.${random.int(0, 7)}.${random.int(0, 255)}`);
  const answers = await Promise.all(asked.map((ip) => world.get(`/v3/community/${ip}`)));
  const named = z.object({ name: z.string().optional() });
  for (const [index, ip] of asked.entries()) {
    const number = ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
    const holding = lists
      .flatMap(({ networks, name, priority, listId }) =>
        networks.map((network) => ({ ...network, name, priority, listId })),
      )
      .filter(({ first, length }) => number >= first && number < first + 2 ** (32 - length))
      .sort((a, b) => b.length - a.length || b.priority - a.priority || a.listId.localeCompare(b.listId));
    expect(named.parse(answers[index]?.body).name, ip).toBe(holding[0]?.name);
  }
});

function randomNetwork(random: Random): string {
  const length = random.int(22, 32);
  const number = (45 << 24) + (10 << 16) + random.int(0, 2047);
  const first = number - (number % 2 ** (32 - length));
  return `${[24, 16, 8, 0].map((bits) => (first >>> bits) & 255).join(".")}/${length}`;
}

test("a warninglist file is imported as it is published", async () => {
  const entries = ["104.16.0.0/13", "1.1.1.1", "2400:cb00::/32", "not-a-network", "104.16.0.1/13", "0.0.0.0/0"];
  const published = JSON.stringify({ name: "List of known Cloudflare IP ranges", type: "cidr", list: entries });
  const read = parseNetworkList("cloudflare", published, new Map());
  expect(read.ipv6).toBe(1);
  expect(read.rejected.map(({ entry }) => entry)).toEqual([
    "cloudflare: not-a-network",
    "cloudflare: 104.16.0.1/13",
    "cloudflare: 0.0.0.0/0",
  ]);
  await world.replaceNetworks("service", [read.list]);
  expect((await world.get("/v3/community/104.17.2.3")).body).toMatchObject({
    riot: true,
    name: "Cloudflare IP ranges",
  });
  expect((await world.get("/v3/community/1.1.1.1")).body).toMatchObject({ riot: true });
});

test("old imports are deleted: only the current ranges and those before them are kept", async () => {
  for (let round = 0; round < 4; round++)
    await world.replaceNetworks("service", [networkList("one", [`5.0.${round}.0/24`])]);
  await world.replaceNetworks("actor", [networkList("other", ["6.0.0.0/24"])]);
  const kept = defineQuery({
    name: "test-partitions",
    sql: "SELECT uniqExact(generation) AS generations FROM network_ranges WHERE kind = 'service'",
    params: z.object({}),
    row: z.object({ generations: z.int() }),
  });
  expect(await run(world.client, kept, {})).toEqual([{ generations: 2 }]);
  expect((await world.get("/v3/community/5.0.3.1")).body).toMatchObject({ riot: true });
  expect((await world.get("/v3/community/5.0.2.1")).status).toBe(404);
});

test("lists imported at the same time are all there afterwards", async () => {
  const lists = Array.from({ length: 6 }, (_, index) => networkList(`list-${index}`, [`7.0.${index}.0/24`]));
  await Promise.all(lists.map((one) => world.replaceNetworks("service", [one])));
  const answers = await Promise.all(lists.map((_, index) => world.get(`/v3/community/7.0.${index}.1`)));
  expect(answers.map(({ status }) => status)).toEqual(lists.map(() => 200));
});

test("changed lists and tags show immediately when the caches have not been refreshed for more than five seconds", async () => {
  await world.close();
  world = await createWorld(() => NOW);
  const tag = makeTag("port-scan", "suspicious");
  await world.addTags([tag]);
  await world.store([seen("45.0.0.7", ["port-scan"])]);
  await replaceNetworkLists(world.client, "service", [networkList("dns", ["45.0.0.0/24"])], NOW);
  await tagRecords.write(world.client, [{ ...tag, intention: "malicious" }], Date.now());
  const late = <T extends object>(cache: T): T & { ageSeconds(): number } => ({ ...cache, ageSeconds: () => 5.1 });
  const app = await makeApp([], (made, metrics) =>
    world.register(made, metrics, { networks: late(world.networks), catalogue: late(world.catalogue) }),
  );
  onTestFinished(() => app.close());
  const { body } = await app.inject({ url: "/v3/ip/45.0.0.7?quick=true" });
  expect(JSON.parse(body)).toMatchObject({
    business_service_intelligence: { found: true },
    internet_scanner_intelligence: { classification: "malicious" },
  });
});
