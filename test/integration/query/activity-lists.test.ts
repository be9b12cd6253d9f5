import { reader } from "@noisefloor/clickhouse/client/query.ts";
import type { MaxInProcess } from "@noisefloor/query/activity/count.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { intHash32, sampleOf } from "../../support/oracle/oracle.ts";
import { atVolume } from "../../support/volume.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const HOUR = 3_600_000;
/** As little as possible is counted in the query process: buckets are listed as those of a tag with many rows. */
const COUNTED_BY_STORE: MaxInProcess = { rows: 1, words: 1 };
const answerSchema = z.object({
  activity: z.record(z.string(), z.array(z.object({ active_ips: z.int(), ips: z.array(z.string()).optional() }))),
});

let world: World;
let key: string;
let plain: ReturnType<typeof reader>;
beforeAll(async () => {
  world = await createWorld(() => NOW);
  key = await world.addCaller("unlimited", ["community_dataset"]);
  plain = reader(world.client, { maxSeconds: 60 });
});
afterAll(() => world.close());

const tagged = (ip: string, slug: string) => observation(ip, NOW - HOUR, { tags: [slug] });

/** Asks a query process that reads the store in this way. */
async function ask(url: string, read: ReturnType<typeof reader>) {
  const app = await makeApp([], (made, metrics) =>
    world.register(made, metrics, { read, maxInProcess: COUNTED_BY_STORE }),
  );
  const answer = await app.inject({ url, headers: { key } });
  await app.close();
  return { statusCode: answer.statusCode, body: answer.json<unknown>() };
}

function activeBuckets(body: unknown) {
  return answerSchema.parse(body).activity.unknown?.filter(({ active_ips }) => active_ips > 0);
}

test("each bucket has its own count, whether it comes from one dataset or two", async () => {
  const counted = makeTag("counted", "unknown");
  await world.addTags([counted]);
  const hours = [13, 12, 11, 9, 8, 7, 5, 4, 3, 2, 1].map((age) => ({
    age,
    global: age === 8 ? 0 : 2_600 + 50 * age,
    community: age % 5 === 3 ? 2_700 + 20 * age : [900, 0, 30][age % 3],
  }));
  const expected = hours.map(({ age, global, community = 0 }, place) => {
    const addressOf = (number: number) => `46.${100 + place}.${number >> 8}.${number & 255}`;
    const seen = (dataset: "global" | "community", count: number, first: number) =>
      Array.from({ length: count }, (_, number) =>
        observation(addressOf(first + number), NOW - age * HOUR, { tags: [counted.slug], dataset }),
      );
    // Half of the fewer ones are in both.
    const shared = Math.floor(Math.min(global, community) / 2);
    const addresses = Array.from({ length: global + community - shared }, (_, number) => addressOf(number));
    return { rows: [...seen("global", global, 0), ...seen("community", community, global - shared)], addresses };
  });
  await world.store(expected.flatMap(({ rows }) => rows));
  const url = `/v3/tags/${counted.id}/activity?days=1&granularity=1h&include_ips=true&workspace_labels=global,community`;
  expect(activeBuckets((await ask(url, plain)).body)).toEqual(
    expected.map(({ addresses }) => ({ active_ips: addresses.length, ips: sampleOf(new Set(addresses), 1_000) })),
  );
});

test.each(atVolume([4, 17], [1, 4, 16, 17]))(
  "buckets of %i hours have the same counts with addresses and without",
  async (width) => {
    const tag = makeTag(`width-${width}`, "unknown");
    await world.addTags([tag]);
    const end = Math.floor(NOW / HOUR) * HOUR + HOUR;
    const start = end - 48 * HOUR;
    const buckets = { global: new Map<number, Set<string>>(), both: new Map<number, Set<string>>() };
    const rows = [1, 2, 3, 4, 7, 8, 20, 21, 40, 41].flatMap((age) =>
      (["global", "community"] as const).flatMap((dataset) =>
        Array.from({ length: dataset === "global" ? 2_600 : 300 * (age % 3) }, (_, place) => {
          // Hours share most of their addresses, and so do the datasets.
          const number = 200 * age + place;
          const ip = `46.${width + 150}.${number >> 8}.${number & 255}`;
          const bucket = Math.floor((NOW - age * HOUR - start) / (width * HOUR));
          for (const seen of dataset === "global" ? [buckets.global, buckets.both] : [buckets.both]) {
            seen.set(bucket, (seen.get(bucket) ?? new Set()).add(ip));
          }
          return observation(ip, NOW - age * HOUR, { tags: [tag.slug], dataset });
        }),
      ),
    );
    await world.store(rows);
    for (const [labels, seen] of [["global", buckets.global] as const, ["global,community", buckets.both] as const]) {
      const question = `/v3/tags/${tag.id}/activity?days=2&granularity=${width}h&workspace_labels=${labels}`;
      const expected = [...seen].sort(([one], [other]) => one - other).map(([, ips]) => ips);
      const listed = await ask(`${question}&include_ips=true`, plain);
      expect(activeBuckets(listed.body)).toEqual(
        expected.map((ips) => ({ active_ips: ips.size, ips: sampleOf(ips, 1_000) })),
      );
      const { body } = await ask(question, plain);
      expect(activeBuckets(body)?.map(({ active_ips }) => active_ips)).toEqual(expected.map(({ size }) => size));
    }
  },
);

test("a sample is complete even when most rows that it was to have go before they are read", async () => {
  const fewer = makeTag("fewer", "unknown");
  await world.addTags([fewer]);
  const addresses = Array.from({ length: 6_000 }, (_, number) => `46.7.${number >> 8}.${number & 255}`);
  await world.store(addresses.map((ip) => tagged(ip, fewer.slug)));
  let lists = 0;
  const read: typeof plain = async (definition, params, signal) => {
    if (definition.name === "tag-activity-lowest" && lists++ === 0) {
      await world.client.command({
        query: `DELETE FROM tag_addresses WHERE tag_id = {tag:UUID} AND intHash32(toUInt32(source_ip)) < ${2 ** 29}`,
        query_params: { tag: fewer.id },
      });
    }
    return plain(definition, params, signal);
  };
  const { body } = await ask(`/v3/tags/${fewer.id}/activity?days=1&granularity=1h&include_ips=true`, read);
  const first = (46 * 256 + 7) * 2 ** 16;
  const left = new Set(addresses.filter((_, number) => intHash32(BigInt(first + number)) >= 2n ** 29n));
  expect(activeBuckets(body)).toEqual([{ active_ips: 6_000, ips: sampleOf(left, 1_000) }]);
  expect(lists).toBeGreaterThan(1);
});

test.each([
  ["all of them were to be read", 3, 1_500],
  ["all of them were to be read, and are", 4, 5],
  ["a sample of them was to be read", 2_500, 20_000],
])(
  "a bucket whose addresses become many between its count and its list has the new count, when %s",
  async (_, before, after) => {
    const growing = makeTag(`growing-${before}`, "unknown");
    await world.addTags([growing]);
    const addresses = Array.from({ length: after }, (_, number) => `46.${before % 200}.${number >> 8}.${number & 255}`);
    const store = (ips: readonly string[]) => world.store(ips.map((ip) => tagged(ip, growing.slug)));
    await store(addresses.slice(0, before));
    let isGrown = false;
    const read: typeof plain = async (definition, params, signal) => {
      if (definition.name === "tag-activity-lowest" && !isGrown) {
        isGrown = true;
        await store(addresses.slice(before));
      }
      return plain(definition, params, signal);
    };
    const { body } = await ask(`/v3/tags/${growing.id}/activity?days=1&granularity=1h&include_ips=true`, read);
    expect(activeBuckets(body)).toEqual([{ active_ips: after, ips: sampleOf(new Set(addresses), 1_000) }]);
  },
);

test.each(["tag-activity-total", "tag-activity-wide-counts"])(
  "when %s fails, its other queries are aborted",
  async (failing) => {
    const broken = makeTag(`broken-${failing}`, "malicious");
    await world.addTags([broken]);
    await world.store(["46.8.0.1", "46.8.0.2"].map((ip) => tagged(ip, broken.slug)));
    const others = new Map<string, AbortSignal | undefined>();
    const read: typeof plain = async (definition, params, signal) => {
      if (!/total|wide-counts$/.test(definition.name)) return plain(definition, params, signal);
      others.set(definition.name, signal);
      await eventually(async () => expect(others.size).toBe(2));
      if (definition.name === failing) throw new Error("the store cannot answer this");
      return plain(definition, params, signal);
    };
    expect((await ask(`/v3/tags/${broken.id}/activity?include_ips=true`, read)).statusCode).toBe(500);
    others.delete(failing);
    expect([...others.values()].map((signal) => signal?.aborted)).toEqual([true]);
  },
);
