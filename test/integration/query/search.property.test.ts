import { removeObservations } from "@noisefloor/clickhouse/rollups/remove-observations.ts";
import { readQuery } from "@noisefloor/domain/query-language/read-query.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import {
  ACTOR_NETWORK,
  type Marked,
  makeMarked,
  makeScopes,
  onlyIn,
  SERVICE_NETWORK,
  toWire,
} from "../../support/builders/marked-observations.ts";
import { networkList } from "../../support/builders/network-list.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { randomQuery } from "../../support/builders/search-query.ts";
import type { Known } from "../../support/oracle/address-oracle.ts";
import { matching } from "../../support/oracle/search-oracle.ts";
import { atVolume } from "../../support/volume.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const NOW = Date.now();
const WORKSPACE = "team";
const SCOPES = makeScopes([WORKSPACE, "others"]);
const QUERIES = atVolume(20, 100);
const OBSERVATIONS = atVolume(700, 4_000);
/** A query has up to some dozens of conditions. */
const TIMEOUT_MS = 600_000;
const ACTOR = "Operator of census";

const TAGS = [
  ...Array.from({ length: 6 }, (_, index) =>
    makeTag(`everywhere-${index}`, INTENTIONS[index % INTENTIONS.length] ?? "unknown", {
      name: `Everywhere Scanner ${index}`,
      cves: index % 2 === 0 ? [`CVE-2026-${1_000 + index}`] : [],
    }),
  ),
  ...SCOPES.map((scope) => makeTag(onlyIn(scope), "suspicious")),
];
const ODD_PATHS = ["/Wp-Login.php", "/100%_sure", "/a\\b?c=*", "/ÄÖ/Straße", "/two\nlines", '/"quoted"'];
const ODD_AGENTS = ["Mozilla/5.0 (X11; Ubuntu)", "masscan/1.3", "ИНДЕКС Робот 2"];

/** Some texts with signs that mean something in a query, in SQL or in a pattern. */
function withOddTexts(random: Random, one: Marked): Marked {
  return {
    ...one,
    ...(random.chance(0.4) ? { path: random.pick(ODD_PATHS), method: random.pick(["GET", "Post"]) } : {}),
    ...(random.chance(0.3)
      ? { userAgent: random.pick(ODD_AGENTS), organization: random.pick(["Example, Inc.", "EXAMPLE Hosting Ltd"]) }
      : {}),
  };
}

const countSchema = z.object({ count: z.int(), adjusted_query: z.string() });
const pageSchema = z.object({
  data: z.array(z.object({ ip: z.string() })),
  request_metadata: z.object({ count: z.int(), scroll: z.string(), complete: z.boolean() }),
});
const ipsSchema = z.object({ ips: z.array(z.string()), request_metadata: z.object({ count: z.int() }) });

let world: World;
let seen: Marked[];
/** Keys of the same workspace, by whether it may know all sensors. */
let keys: { readonly isEntitled: boolean; readonly key: string }[];

beforeAll(async () => {
  const random = seeded(7);
  world = await createWorld(() => NOW);
  await world.addTags(TAGS);
  await world.replaceNetworks("actor", [networkList("census", [ACTOR_NETWORK], { name: ACTOR })]);
  await world.replaceNetworks("service", [
    networkList("cloud", [SERVICE_NETWORK], { trustLevel: "2" }),
    networkList("resolver", ["45.1.0.8/30"], { trustLevel: "1" }),
  ]);
  keys = [
    { isEntitled: false, key: await world.addCaller("unlimited", ["community_dataset"], WORKSPACE) },
    { isEntitled: true, key: await world.addCaller("unlimited", ["community_dataset", "sensors"], "others") },
  ];
  seen = makeMarked(random, { scopes: SCOPES, tags: TAGS, count: OBSERVATIONS, now: NOW }).map((one) =>
    withOddTexts(random, one),
  );
  const wire = seen.map(toWire);
  const queue = random.shuffle([...wire, ...wire.filter(() => random.chance(0.3))]);
  while (queue.length > 0) {
    const { rejected } = await world.store(queue.splice(0, random.int(1, 500)));
    expect(rejected).toEqual([]);
  }
});
afterAll(() => world.close());

const serviceOf = (ip: string) => {
  if (!ip.startsWith("45.1.0.")) return undefined;
  const isResolver = Number(ip.split(".")[3]) >= 8 && Number(ip.split(".")[3]) < 12;
  const nothing = { category: "", name: "", description: "", explanation: "", last_updated: "", reference: "" };
  return { ...nothing, trust_level: isResolver ? "1" : "2" };
};

async function read<T>(schema: z.ZodType<T>, path: string, parameters: Record<string, string>, key: string) {
  const { status, body } = await world.get(`${path}?${new URLSearchParams(parameters)}`, { key });
  expect(status, `${JSON.stringify(parameters)}: ${JSON.stringify(body).slice(0, 400)}`).toBe(200);
  return schema.parse(body);
}

const numberOf = (ip: string) => ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

async function expectAnswers(random: Random, queries: number, stored: readonly Marked[]) {
  let found = 0;
  for (let count = 0; count < queries; count++) {
    const datasets = random.pick([
      ["global"],
      ["global"],
      ["community", "personal"],
      ["global", "community", "personal"],
    ]);
    const days = random.chance(0.4) ? random.pick([1, 2, 7, 30, 90]) : undefined;
    const { isEntitled, key } = random.pick(keys);
    const workspace = isEntitled ? "others" : WORKSPACE;
    const from = days === undefined ? Number.NEGATIVE_INFINITY : Math.ceil(NOW / HOUR) * HOUR - days * DAY;
    const visible = stored.filter(
      ({ dataset, workspaceId, at }) =>
        datasets.includes(dataset) && (dataset !== "personal" || workspaceId === workspace) && at >= from,
    );
    const words = { seen: stored, tags: TAGS, actors: [ACTOR, "Operator of nothing"], now: NOW };
    const query = randomQuery(random, words, 4);
    const tree = readQuery(query, NOW);
    if (!("query" in tree)) throw new Error(`${query}: ${JSON.stringify(tree.errors)}`);
    const known: Known = {
      seen: visible,
      tags: TAGS,
      serviceOf,
      actorOf: (ip) => (ip.startsWith("45.2.0.") ? ACTOR : undefined),
    };
    // Sensors of shared datasets are not for all to know.
    const expected = matching(tree.query, known, (one) => isEntitled || one.dataset === "personal");
    const parameters = {
      query,
      ...(datasets.length === 1 ? {} : { workspace_labels: datasets.join(",") }),
      ...(days === undefined ? {} : { days: String(days) }),
    };
    const context = JSON.stringify(parameters);
    const counted = await read(countSchema, "/v3/gnql/count", parameters, key);
    const { ips } = await read(ipsSchema, "/v3/gnql/ips", parameters, key);
    expect([...ips].sort(), context).toEqual([...expected].sort());
    expect(counted, context).toEqual({ count: expected.length, adjusted_query: "" });
    const lastSeen = (ip: string) => Math.max(...visible.filter((one) => one.ip === ip).map(({ at }) => at));
    const latestFirst = expected.toSorted((a, b) => lastSeen(b) - lastSeen(a) || numberOf(a) - numberOf(b));
    expect(ips, context).toEqual(latestFirst);
    if (count % 5 === 0) await expectPages(parameters, key, expected, random.pick([1, 7, 10_000]));
    found += expected.length;
  }
  expect(found).toBeGreaterThan(queries);
}

/** Reads at most some pages, as each is a request. */
async function expectPages(parameters: Record<string, string>, key: string, expected: string[], size: number) {
  const inOrder = expected.toSorted((one, other) => numberOf(one) - numberOf(other));
  const listed: string[] = [];
  let scroll = "";
  for (let page = 0; page < 4; page++) {
    const asked = { ...parameters, size: String(size), quick: "true", scroll };
    const { data, request_metadata } = await read(pageSchema, "/v3/gnql", asked, key);
    listed.push(...data.map(({ ip }) => ip));
    expect(request_metadata.count).toBe(expected.length);
    expect(request_metadata.complete).toBe(listed.length === expected.length);
    expect(request_metadata.scroll === "").toBe(request_metadata.complete);
    if (request_metadata.complete) break;
    scroll = request_metadata.scroll;
  }
  expect(listed).toEqual(inOrder.slice(0, listed.length));
}

test("random queries find the oracle's addresses, in all scopes and days", { timeout: TIMEOUT_MS }, () =>
  expectAnswers(seeded(1), QUERIES, seen),
);

test("after observations are removed, they find what is left", { timeout: TIMEOUT_MS }, async () => {
  const sensor = "roaming";
  await removeObservations(world.client, { sensors: [sensor] });
  await expectAnswers(
    seeded(2),
    Math.ceil(QUERIES / 4),
    seen.filter(({ sensorId }) => sensorId !== sensor),
  );
});
