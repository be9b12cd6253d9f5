import { type Read, reader } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { MAX_IN_PROCESS, type MaxInProcess } from "@noisefloor/query/activity/count.ts";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { intHash32, sampleOf } from "../../support/oracle/oracle.ts";
import { startIndex } from "../../support/worlds/address-index.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const HOUR = 3_600_000;
/** As little as possible is counted in the query process. */
const COUNTED_BY_STORE: MaxInProcess = { rows: 1, words: 1 };
const tag = makeTag("under-test", "suspicious");
const bucketSchema = z.object({ active_ips: z.int(), ips: z.array(z.string()) });
const answerSchema = z.object({
  activity: z.record(z.string(), z.array(bucketSchema)),
  aggregations: z.object({ total_ips: z.int(), classification: z.record(z.string(), z.int()) }),
  metadata: z.object({ ips_truncated: z.boolean() }),
});

let world: World;
/** Answers as for a tag with many rows. */
let counting: FastifyInstance;
let key: string;
beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([tag]);
  counting = await makeApp([], (made, metrics) => world.register(made, metrics, { maxInProcess: COUNTED_BY_STORE }));
  key = await world.addCaller("unlimited");
});
afterAll(async () => {
  await counting.close();
  await world.close();
});

/** The answer, which is the same in whatever way it is made. */
async function ask(path: string): Promise<z.output<typeof answerSchema>> {
  const { body } = await world.get(path);
  expect((await counting.inject({ url: path, headers: { key } })).json()).toEqual(body);
  return answerSchema.parse(body);
}

const tagged = (ip: string, at: number, members: object = {}) => observation(ip, at, { tags: [tag.slug], ...members });

test.each([
  ["all of them are read", 1_500],
  ["a part of them is read", 2_500],
])(
  "a sample is complete even when nearly all addresses of a bucket have high hash values, and %s",
  async (_, count) => {
    const high = makeTag(`high-${count}`, "suspicious");
    await world.addTags([high]);
    const addresses: string[] = [];
    for (let number = 0x2d000000; addresses.length < count; number++) {
      if (intHash32(BigInt(number)) > 0xf8000000n)
        addresses.push([24, 16, 8, 0].map((bits) => (number >>> bits) & 255).join("."));
    }
    await world.store(addresses.map((ip) => tagged(ip, NOW - 30 * 60_000, { tags: [high.slug] })));
    const answer = await ask(`/v3/tags/${high.id}/activity?include_ips=true`);
    const bucket = answer.activity.suspicious?.at(-1);
    expect(bucket?.active_ips).toBe(count);
    expect(bucket?.ips).toEqual(sampleOf(new Set(addresses), 1_000));
    expect(answer.metadata.ips_truncated).toBe(true);
    expect(answer.aggregations).toEqual({ total_ips: count, classification: { suspicious: count } });
  },
);

test("exactly 1,000 addresses are a complete list, not a truncated one", async () => {
  const other = makeTag("exactly-a-thousand", "unknown");
  await world.addTags([other]);
  const addresses = Array.from({ length: 1_000 }, (_, index) => `46.1.${index >> 8}.${index & 255}`);
  await world.store(addresses.map((ip) => tagged(ip, NOW - HOUR, { tags: [other.slug] })));
  const answer = await ask(`/v3/tags/${other.id}/activity?include_ips=1`);
  expect(answer.activity.unknown?.at(-1)).toMatchObject({ active_ips: 1_000, ips: addresses });
  expect(answer.metadata.ips_truncated).toBe(false);
});

test("few rows are counted here; more are counted by the store, and not read again", async () => {
  const few = makeTag("few", "malicious");
  await world.addTags([few]);
  const hours = [1, 100];
  await world.store(
    ["46.2.0.1", "46.2.0.2"].flatMap((ip) => hours.map((age) => tagged(ip, NOW - age * HOUR, { tags: [few.slug] }))),
  );
  const queriesWith = async (more: { maxInProcess?: MaxInProcess }) => {
    let queries: string[] = [];
    const read = reader(world.client, {
      maxSeconds: 60,
      onEnd: (query, outcome) => void queries.push(`${query} ${outcome}`),
    });
    const app = await makeApp([], (made, metrics) => world.register(made, metrics, { read, ...more }));
    const url = `/v3/tags/${few.id}/activity?include_ips=true`;
    const ask = async () => {
      queries = [];
      const { body } = await app.inject({ url, headers: { key } });
      expect(answerSchema.parse(JSON.parse(body)).activity.malicious?.at(-1)?.ips).toEqual(["46.2.0.1", "46.2.0.2"]);
      return queries.sort();
    };
    const asked = [await ask(), await ask()];
    await app.close();
    return asked;
  };
  const rows = ["tag-activity-rows answered"];
  expect(await queriesWith({})).toEqual([rows, rows]);
  const counted = ["lowest", "total", "wide-counts"].map((query) => `tag-activity-${query} answered`);
  expect(await queriesWith({ maxInProcess: { ...MAX_IN_PROCESS, rows: 3 } })).toEqual([
    ["tag-activity-rows refused", ...counted].sort(),
    counted,
  ]);
});

test("buckets of very many and of few addresses are all listed", async () => {
  const wide = makeTag("wide", "suspicious");
  await world.addTags([wide]);
  const [first, hours] = [0x2e000000, 48];
  const sizeOf = (age: number) => [1_010, 3, 1_500, 0, 40, 4][age % 6] ?? 0;
  const startOf = (age: number) =>
    first + Array.from({ length: age }, (_, before) => sizeOf(before)).reduce((sum, size) => sum + size, 0);
  await world.client.insertSelect({
    query: `INSERT INTO ${OBSERVATIONS} (observation_id, observed_at, dataset, sensor_id, source_ip, transport, tags)
      SELECT toString(number), toStartOfHour(fromUnixTimestamp64Milli({now:Int64}, 'UTC')) - toIntervalHour(age),
        'global', 's', toIPv4({starts:Array(UInt32)}[age + 1] + number), 'tcp', [{tag:UUID}]
      FROM (SELECT number AS age FROM numbers(${hours})) ARRAY JOIN range({sizes:Array(UInt32)}[age + 1]) AS number`,
    query_params: {
      now: NOW,
      tag: wide.id,
      starts: Array.from({ length: hours }, (_, age) => startOf(age)),
      sizes: Array.from({ length: hours }, (_, age) => sizeOf(age)),
    },
  });
  const path = `/v3/tags/${wide.id}/activity?days=2&granularity=1h&include_ips=true`;
  const { activity, aggregations, metadata } = await ask(path);
  const toText = (number: number) => [24, 16, 8, 0].map((bits) => (number >>> bits) & 255).join(".");
  const expected = Array.from({ length: hours }, (_, hour) => {
    const age = hours - 1 - hour;
    const addresses = new Set(Array.from({ length: sizeOf(age) }, (_, number) => toText(startOf(age) + number)));
    return { active_ips: addresses.size, ips: sampleOf(addresses, 1_000) };
  });
  expect(activity.suspicious).toEqual(expected);
  expect([aggregations.total_ips, metadata.ips_truncated]).toEqual([startOf(hours) - first, true]);
});

test("what is beyond the retention is in no bucket, no total and no classification, in whatever way the answer is made", async () => {
  const [old, worse] = [makeTag("old", "suspicious"), makeTag("worse-before", "malicious")];
  await world.addTags([old, worse]);
  const seen = (last: number, days: number, tags: readonly string[], dataset = "global") =>
    tagged(`46.4.0.${last}`, NOW - days * 24 * HOUR, { tags, dataset });
  await world.store([
    ...[10, 8, 6, 1].map((days) => seen(days, days, [old.slug])),
    seen(6, 8, [worse.slug], "community"),
    seen(1, 6, [worse.slug], "community"),
  ]);
  const index = await startIndex(world, { limit: 1_000_000, retentionDays: () => 7, now: () => NOW, maxAgeMs: 60_000 });
  await eventually(async () => expect(index.isCurrent()).toBe(true));
  const entitled = await world.addCaller("unlimited", ["community_dataset"]);
  const url = `/v3/tags/${old.id}/activity?days=30&granularity=1h&include_ips=true&workspace_labels=global,community`;
  const maxInProcess = COUNTED_BY_STORE;
  for (const way of [{}, { maxInProcess }, { index }, { index, maxInProcess }]) {
    const app = await makeApp([], (made, metrics) => world.register(made, metrics, { retentionDays: () => 7, ...way }));
    const answer = answerSchema.parse((await app.inject({ url, headers: { key: entitled } })).json());
    await app.close();
    expect(answer.activity.suspicious).toHaveLength(30 * 24);
    expect(answer.activity.suspicious?.flatMap(({ ips }) => ips)).toEqual(["46.4.0.6", "46.4.0.1"]);
    expect(answer.aggregations).toEqual({ total_ips: 2, classification: { suspicious: 1, malicious: 1 } });
  }
  await index.stop();
});

test("identical questions at the same time are one question to the store, and every caller has the whole answer", async () => {
  const shared = makeTag("shared", "unknown");
  await world.addTags([shared]);
  await world.store(["46.5.0.1", "46.5.0.2"].map((ip) => tagged(ip, NOW - HOUR, { tags: [shared.slug] })));
  const queries: string[] = [];
  const read = reader(world.client, { maxSeconds: 60, onEnd: (query) => void queries.push(query) });
  const app = await makeApp([], (made, metrics) => world.register(made, metrics, { read }));
  const url = `/v3/tags/${shared.id}/activity?days=90&granularity=1h&include_ips=true`;
  const answers = await Promise.all(Array.from({ length: 5 }, () => app.inject({ url, headers: { key } })));
  await app.close();
  expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
  expect(answerSchema.parse(answers[0]?.json()).aggregations.total_ips).toBe(2);
  expect(queries.filter((query) => query === "tag-activity-classification")).toHaveLength(1);
});

/** Asks a process that counts little itself, and reads the store in this way. */
async function askThrough(url: string, read: Read) {
  const app = await makeApp([], (made, metrics) =>
    world.register(made, metrics, { read, maxInProcess: COUNTED_BY_STORE }),
  );
  const answer = await app.inject({ url, headers: { key } });
  await app.close();
  return { statusCode: answer.statusCode, body: answer.json<unknown>() };
}
const readStore: Read = (definition, params, signal) =>
  reader(world.client, { maxSeconds: 60 })(definition, params, signal);
const listOf = (body: unknown) => answerSchema.parse(body).activity.unknown?.find(({ active_ips }) => active_ips > 0);

test("a sample is complete even when most rows that it was to have go before they are read", async () => {
  const fewer = makeTag("fewer", "unknown");
  await world.addTags([fewer]);
  const addresses = Array.from({ length: 6_000 }, (_, number) => `46.7.${number >> 8}.${number & 255}`);
  await world.store(addresses.map((ip) => tagged(ip, NOW - HOUR, { tags: [fewer.slug] })));
  let lists = 0;
  const read: Read = async (definition, params, signal) => {
    if (definition.name === "tag-activity-lowest" && lists++ === 0) {
      await world.client.command({
        query: `DELETE FROM tag_addresses WHERE tag_id = {tag:UUID} AND intHash32(toUInt32(source_ip)) < ${2 ** 29}`,
        query_params: { tag: fewer.id },
      });
    }
    return readStore(definition, params, signal);
  };
  const { body } = await askThrough(`/v3/tags/${fewer.id}/activity?days=1&granularity=1h&include_ips=true`, read);
  const first = (46 * 256 + 7) * 2 ** 16;
  const left = new Set(addresses.filter((_, number) => intHash32(BigInt(first + number)) >= 2n ** 29n));
  expect(listOf(body)).toEqual({ active_ips: 6_000, ips: sampleOf(left, 1_000) });
  expect(lists).toBeGreaterThan(1);
});

test.each([
  ["all of them were to be read", 3, 1_500],
  ["all of them were to be read, and are", 4, 5],
  ["a sample of them was to be read", 2_500, 10_000],
])(
  "a bucket whose addresses become many between its count and its list has the new count, when %s",
  async (_, before, after) => {
    const growing = makeTag(`growing-${before}`, "unknown");
    await world.addTags([growing]);
    const addresses = Array.from({ length: after }, (_, number) => `46.${before % 200}.${number >> 8}.${number & 255}`);
    const store = (ips: readonly string[]) =>
      world.store(ips.map((ip) => tagged(ip, NOW - HOUR, { tags: [growing.slug] })));
    await store(addresses.slice(0, before));
    let isGrown = false;
    const read: Read = async (definition, params, signal) => {
      if (definition.name === "tag-activity-lowest" && !isGrown) {
        isGrown = true;
        await store(addresses.slice(before));
      }
      return readStore(definition, params, signal);
    };
    const { body } = await askThrough(`/v3/tags/${growing.id}/activity?days=1&granularity=1h&include_ips=true`, read);
    expect(listOf(body)).toEqual({ active_ips: after, ips: sampleOf(new Set(addresses), 1_000) });
  },
);

test.each(["tag-activity-total", "tag-activity-wide-counts"])(
  "when %s fails, its other queries are aborted",
  async (failing) => {
    const broken = makeTag(`broken-${failing}`, "malicious");
    await world.addTags([broken]);
    await world.store(["46.8.0.1", "46.8.0.2"].map((ip) => tagged(ip, NOW - HOUR, { tags: [broken.slug] })));
    const others = new Map<string, AbortSignal | undefined>();
    const read: Read = async (definition, params, signal) => {
      if (!/total|wide-counts$/.test(definition.name)) return readStore(definition, params, signal);
      others.set(definition.name, signal);
      await eventually(async () => expect(others.size).toBe(2));
      if (definition.name === failing) throw new Error("the store cannot answer this");
      return readStore(definition, params, signal);
    };
    expect((await askThrough(`/v3/tags/${broken.id}/activity?include_ips=true`, read)).statusCode).toBe(500);
    others.delete(failing);
    expect([...others.values()].map((signal) => signal?.aborted)).toEqual([true]);
  },
);
