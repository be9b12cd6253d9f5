import { reader } from "@noisefloor/clickhouse/client/query.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const HOUR = 3_600_000;
/** A block of hours that a row of `tag_addresses` holds starts here. */
const BLOCK = Math.floor(Date.now() / (64 * HOUR)) * 64 * HOUR - 2 * 64 * HOUR;
const RETENTION_DAYS = 10;
const tag = makeTag("under-test", "suspicious");
const worse = makeTag("worse", "malicious");
const answerSchema = z.object({
  activity: z.object({ suspicious: z.array(z.object({ active_ips: z.int(), ips: z.array(z.string()).optional() })) }),
  aggregations: z.object({ total_ips: z.int(), classification: z.record(z.string(), z.int()) }),
});

let now: number;
let world: World;
beforeEach(async () => {
  now = BLOCK + 70 * HOUR;
  world = await createWorld(() => now, { retentionDays: RETENTION_DAYS });
  await world.addTags([tag, worse]);
});
afterEach(() => world.close());

const seen = (ip: string, at: number, members: object = {}) =>
  observation(ip, at, { observation_id: `${ip}-${at}`, tags: [tag.slug], ...members });

async function ask(question: string) {
  const { body } = await world.get(`/v3/tags/${tag.id}/activity?${question}`);
  const { activity, aggregations } = answerSchema.parse(body);
  return {
    counts: activity.suspicious.map(({ active_ips }) => active_ips),
    buckets: activity.suspicious,
    aggregations,
  };
}

test("hours on both sides of a block's edge count in their own buckets, and an address in both once in the window", async () => {
  const [before, after] = [BLOCK + 64 * HOUR - 1, BLOCK + 64 * HOUR];
  await world.store([seen("45.0.0.1", before), seen("45.0.0.1", after), seen("45.0.0.2", before)]);
  await world.store([seen("45.0.0.3", after)]);
  // 24 buckets of an hour: the window is the day before now, so the edge lies 18 hours after its start.
  const hourly = await ask("days=1&granularity=1h&include_ips=true");
  expect(hourly.counts.slice(16, 20)).toEqual([0, 2, 2, 0]);
  expect(hourly.buckets.slice(17, 19).map(({ ips }) => ips)).toEqual([
    ["45.0.0.1", "45.0.0.2"],
    ["45.0.0.1", "45.0.0.3"],
  ]);
  for (const width of ["17h", "18h", "24h"]) {
    const { counts, aggregations } = await ask(`days=1&granularity=${width}`);
    expect(counts).toEqual({ "17h": [0, 3], "18h": [2, 2], "24h": [3] }[width]);
    expect(aggregations).toEqual({ total_ips: 3, classification: { suspicious: 3 } });
  }
});

test("late, repeated and replayed observations change nothing but what they add", async () => {
  const early = seen("45.0.0.1", BLOCK + 50 * HOUR);
  const late = seen("45.0.0.1", BLOCK + 66 * HOUR);
  await world.store([late, seen("45.0.0.2", BLOCK + 66 * HOUR)]);
  await world.store([early, late]);
  await world.store([late, early, early]);
  const { counts, aggregations } = await ask("days=1&granularity=18h");
  expect(counts).toEqual([1, 2]);
  expect(aggregations).toEqual({ total_ips: 2, classification: { suspicious: 2 } });
  await world.store([seen("45.0.0.2", BLOCK + 50 * HOUR, { tags: [worse.slug] })]);
  expect((await ask("days=1&granularity=18h")).aggregations.classification).toEqual({ suspicious: 1, malicious: 1 });
});

test("an hour beyond the retention counts no more, although a row still holds it beside younger hours", async () => {
  await world.store([
    seen("45.0.0.1", BLOCK + 2 * HOUR),
    seen("45.0.0.1", BLOCK + 30 * HOUR),
    seen("45.0.0.2", BLOCK + 2 * HOUR, { tags: [tag.slug, worse.slug] }),
    seen("45.0.0.3", BLOCK + 30 * HOUR + 1, { tags: [tag.slug, worse.slug] }),
  ]);
  const classes = async () => (await ask("days=90&granularity=168h")).aggregations;
  expect(await classes()).toEqual({ total_ips: 3, classification: { suspicious: 1, malicious: 2 } });
  now = BLOCK + 20 * HOUR + RETENTION_DAYS * 24 * HOUR;
  expect(await classes()).toEqual({ total_ips: 2, classification: { suspicious: 1, malicious: 1 } });
  expect((await ask("days=90&granularity=168h")).counts.at(-2)).toBe(2);
  expect((await ask("days=90&granularity=1h")).counts.filter((count) => count > 0)).toEqual([2]);
  now = BLOCK + 31 * HOUR + RETENTION_DAYS * 24 * HOUR;
  expect(await classes()).toEqual({ total_ips: 0, classification: {} });
});

test("identical questions at the same time are one question to the store, and every caller has the whole answer", async () => {
  await world.store([seen("45.0.0.1", BLOCK + 66 * HOUR), seen("45.0.0.2", BLOCK + 67 * HOUR)]);
  const asked: string[] = [];
  const read = reader(world.client, { maxSeconds: 60, onEnd: (query) => void asked.push(query) });
  const app = await makeApp(QUERY_OPERATIONS, (made, metrics) => world.register(made, metrics, { read }));
  const key = await world.addCaller("unlimited");
  try {
    const url = `/v3/tags/${tag.id}/activity?days=90&granularity=1h&include_ips=true`;
    const answers = await Promise.all(Array.from({ length: 5 }, () => app.inject({ url, headers: { key } })));
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200]);
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(answerSchema.parse(answers[0]?.json()).aggregations.total_ips).toBe(2);
    expect(asked.filter((query) => query === "tag-activity-classification")).toHaveLength(1);
  } finally {
    await app.close();
  }
});
