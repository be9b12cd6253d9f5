import { reader } from "@noisefloor/clickhouse/client/query.ts";
import type { SightingsCache } from "@noisefloor/query/address-index/sightings-cache.ts";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { startIndex } from "../../support/worlds/address-index.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const HOUR = 3_600_000;
/** However late polls are on a busy machine, the index answers. */
const MAX_AGE_MS = 60_000;
const tag = makeTag("asked-for", "unknown");
const suspicious = makeTag("suspicious", "suspicious");
const malicious = makeTag("malicious", "malicious");
const less = makeTag("harmless", "benign");
const answerSchema = z.object({
  aggregations: z.object({ total_ips: z.int(), classification: z.record(z.string(), z.int()) }),
});

const aged = makeTag("aged", "unknown");

let world: World;
let index: SightingsCache;
let key: string;
let queries: string[] = [];
/**
 * What apps with the index are made with. The first one has the addresses of the tag at hand; the second one lists them
 * to classify them; the third one leaves all to the store.
 */
let ways: readonly object[];
let withIndex: (more: object) => Promise<FastifyInstance>;
let apps: readonly FastifyInstance[];

const GLOBAL = {};
const COMMUNITY = { dataset: "community" };
const PERSONAL = { dataset: "personal", workspace_id: "ours" };
const OTHERS = { dataset: "personal", workspace_id: "theirs" };

/** Where each address was seen, and with which tag. */
const SEEN: readonly [ip: string, where: object, tag: { readonly slug: string }][] = [
  ["46.9.0.1", GLOBAL, tag],
  ["46.9.0.2", GLOBAL, tag],
  ["46.9.0.2", COMMUNITY, malicious],
  ["46.9.0.3", GLOBAL, tag],
  ["46.9.0.3", GLOBAL, malicious],
  ["46.9.0.3", COMMUNITY, suspicious],
  ["46.9.0.4", GLOBAL, tag],
  ["46.9.0.4", GLOBAL, suspicious],
  ["46.9.0.4", PERSONAL, malicious],
  ["46.9.0.5", COMMUNITY, tag],
  ["46.9.0.5", GLOBAL, malicious],
  ["46.9.0.6", COMMUNITY, tag],
  ["46.9.0.6", COMMUNITY, suspicious],
  ["46.9.0.6", COMMUNITY, malicious],
  ["46.9.0.7", PERSONAL, tag],
  ["46.9.0.7", COMMUNITY, less],
  ["46.9.0.7", OTHERS, malicious],
  ["46.9.0.8", OTHERS, tag],
  ["46.9.0.9", PERSONAL, tag],
];

beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([tag, suspicious, malicious, less, aged]);
  const wire = SEEN.map(([ip, where, { slug }]) => observation(ip, NOW - HOUR, { tags: [slug], ...where }));
  expect((await world.store(wire)).rejected).toEqual([]);
  index = await startIndex(world, {
    limit: 1_000,
    retentionDays: () => RETENTION_DAYS,
    now: () => NOW,
    maxAgeMs: MAX_AGE_MS,
  });
  await eventually(async () => expect(index.isCurrent()).toBe(true));
  const read = reader(world.client, { maxSeconds: 60, onEnd: (query) => void queries.push(query) });
  withIndex = (more) => makeApp([], (made, metrics) => world.register(made, metrics, { read, index, ...more }));
  // The limits of 1 are those of the store, for which 0 is none.
  const maxInProcess = { rows: 1, words: 0 };
  ways = [{}, { maxInProcess }, { maxInProcess, maxListed: 1 }];
  apps = await Promise.all(ways.map(withIndex));
  key = await world.addCaller("unlimited", ["community_dataset"], "ours");
});
afterAll(async () => {
  await Promise.all(apps.map((app) => app.close()));
  await index.stop();
  await world.close();
});

test.each([
  ["global", { unknown: 2, malicious: 1, suspicious: 1 }],
  ["community", { unknown: 1, malicious: 1 }],
  ["personal", { unknown: 2 }],
  ["global,community", { unknown: 1, malicious: 4, suspicious: 1 }],
  ["community,personal", { unknown: 3, malicious: 1 }],
  ["global,personal", { unknown: 4, malicious: 2 }],
  ["global,community,personal", { unknown: 3, malicious: 5 }],
])("in %s, addresses have the worst classification that they were given there", async (labels, classification) => {
  const url = `/v3/tags/${tag.id}/activity?granularity=1h&workspace_labels=${labels}`;
  const asked = [];
  for (const app of [world.app, ...apps]) {
    queries = [];
    const { aggregations } = answerSchema.parse((await app.inject({ url, headers: { key } })).json());
    expect(aggregations.classification).toEqual(classification);
    expect(aggregations.total_ips).toBe(Object.values(classification).reduce((sum, count) => sum + count, 0));
    asked.push(queries.filter((query) => /severities|classification/.test(query)));
  }
  const isGlobal = labels === "global";
  const severities = isGlobal ? [] : ["tag-activity-severities"];
  expect(asked.slice(1, 3)).toEqual([severities, severities]);
  expect(asked[3]).toContain("tag-activity-classification");
});

test("a worse tag that was last seen in another dataset before the retention does not count", async () => {
  const DAY = 24 * HOUR;
  const wire = [6, 8].flatMap((age) => [
    observation(`46.9.1.${age}`, NOW - HOUR, { tags: [aged.slug] }),
    observation(`46.9.1.${age}`, NOW - age * DAY, { tags: [malicious.slug], ...COMMUNITY }),
  ]);
  expect((await world.store(wire)).rejected).toEqual([]);
  const url = `/v3/tags/${aged.id}/activity?granularity=1h&workspace_labels=global,community`;
  for (const way of ways) {
    const app = await withIndex({ ...way, retentionDays: () => 7 });
    const { aggregations } = answerSchema.parse((await app.inject({ url, headers: { key } })).json());
    await app.close();
    expect(aggregations.classification).toEqual({ unknown: 1, malicious: 1 });
  }
});
