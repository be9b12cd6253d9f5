import { reader } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { MAX_IN_PROCESS, type MaxInProcess } from "@noisefloor/query/activity/count.ts";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { intHash32, sampleOf } from "../../support/oracle/oracle.ts";
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

test("the last bucket is counted, however many there are before it", async () => {
  const daily = makeTag("daily", "malicious");
  await world.addTags([daily]);
  const days = Array.from({ length: 80 }, (_, age) => age);
  await world.store(days.map((age) => tagged(`46.3.0.${age}`, NOW - age * 24 * HOUR - 60_000, { tags: [daily.slug] })));
  const counts = async (query: string) => {
    const { body } = await world.get(`/v3/tags/${daily.id}/activity?${query}`);
    const { activity } = z.object({ activity: z.record(z.string(), z.array(bucketSchema.partial())) }).parse(body);
    return activity.malicious?.map(({ active_ips }) => active_ips);
  };
  for (const asked of [62, 63, 64, 65, 66]) {
    const query = `days=${asked}&granularity=24h`;
    const counted = await counts(query);
    expect(counted?.length).toBeGreaterThanOrEqual(asked);
    expect(counted).not.toContain(0);
    expect(await counts(`${query}&include_ips=true`), "counted in another way").toEqual(counted);
  }
});

const errors: [query: string, status: number, message: RegExp][] = [
  ["days=0", 400, /days takes a whole number from 1 to 90/],
  ["days=91", 400, /days/],
  ["days=", 400, /days/],
  ["days=1.5", 400, /days/],
  ["days=1&days=2", 400, /days was given more than once/],
  ...["1d", "1.5h", "0h", "169h", "01h", "", "24", "h"].map((width): [string, number, RegExp] => [
    `granularity=${width}`,
    400,
    /granularity takes whole hours from 1h to 168h/,
  ]),
  ["include_ips=yes", 400, /include_ips takes true, false, 1 or 0/],
  ["include_ips=TRUE", 400, /include_ips/],
  ["include_ips=", 400, /include_ips/],
  ["workspace_labels=nobody", 400, /workspace_labels takes/],
  ["workspace_labels=global,nobody", 400, /workspace_labels/],
  ["workspace_labels=personal,nobody", 400, /workspace_labels/],
];

test.each(errors)("%s is a %i", async (query, status, message) => {
  const answer = await world.get(`/v3/tags/${tag.id}/activity?${query}`);
  expect(answer).toEqual({ status, body: { message: expect.stringMatching(message) } });
});

test("a malformed id comes before everything else, an unknown tag after everything else", async () => {
  const unknown = "00000000-0000-4000-8000-000000000000";
  expect(await world.get("/v3/tags/mirai/activity?days=0")).toEqual({
    status: 400,
    body: { message: "Invalid parameter: id takes a tag's UUID or slug; no tag has this slug" },
  });
  expect((await world.get(`/v3/tags/${unknown}/activity?days=0`)).status).toBe(400);
  expect(await world.get(`/v3/tags/${unknown}/activity`)).toEqual({ status: 404, body: { message: "Tag not found" } });
});

test("unknown parameters are ignored, and the id's case does not matter", async () => {
  const { status } = await world.get(`/v3/tags/${tag.id.toUpperCase()}/activity?whatever=1`);
  expect(status).toBe(200);
});

test.each(["global", "greynoise", " global ", "global,global", ""])(
  "the scope list %j means the global dataset",
  async (list) => {
    const plain = await world.get(`/v3/tags/${tag.id}/activity`);
    expect(await world.get(`/v3/tags/${tag.id}/activity?workspace_labels=${encodeURIComponent(list)}`)).toEqual(plain);
  },
);

test("buckets of very many and of few addresses are all listed, by one query or several", async () => {
  const wide = makeTag("wide", "suspicious");
  await world.addTags([wide]);
  const [first, hours] = [0x2e000000, 168];
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
  const path = `/v3/tags/${wide.id}/activity?days=7&granularity=1h&include_ips=true`;
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

test("a window that reaches beyond retention lists what is not expired, and empty buckets before it", async () => {
  const old = makeTag("old", "unknown");
  await world.addTags([old]);
  const ages = [10, 8, 6, 1];
  await world.store(ages.map((age) => tagged(`46.4.0.${age}`, NOW - age * 24 * HOUR, { tags: [old.slug] })));
  const url = `/v3/tags/${old.id}/activity?days=30&granularity=1h&include_ips=true`;
  for (const more of [{}, { maxInProcess: COUNTED_BY_STORE }]) {
    const app = await makeApp([], (made, metrics) =>
      world.register(made, metrics, { retentionDays: () => 7, ...more }),
    );
    const { activity } = answerSchema.parse((await app.inject({ url, headers: { key } })).json());
    await app.close();
    expect(activity.unknown).toHaveLength(30 * 24);
    expect(activity.unknown?.flatMap(({ ips }) => ips)).toEqual(["46.4.0.6", "46.4.0.1"]);
  }
});
