import { openRetentionCache } from "@noisefloor/clickhouse/caches/retention-cache.ts";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { networkList } from "../../support/builders/network-list.ts";
import { seeded } from "../../support/builders/random.ts";
import { type Cut, type CuttingProxy, startCuttingProxy } from "../../support/servers/cutting-proxy.ts";
import { atVolume } from "../../support/volume.ts";
import { createWorld, makeTag, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const worm = makeTag("worm", "malicious");
const scanner = makeTag("scanner", "suspicious");
const [SEEN, SERVICE, UNSEEN] = ["45.0.0.1", "45.1.0.1", "45.2.0.1"];

let proxy: CuttingProxy;
let world: World;
beforeAll(async () => {
  const server = inject("clickhouse");
  proxy = await startCuttingProxy(server.url);
  world = await createWorld(() => NOW, { server: { ...server, url: proxy.url } });
  await world.addTags([worm, scanner]);
  const lists = [networkList("resolvers", ["45.1.0.0/16"])];
  await world.replaceNetworks("service", lists);
  const observations = Array.from({ length: 40 }, (_, index) => ({
    observed_at: new Date(NOW - index * 3_600_000).toISOString(),
    observation_id: `seen-${index}`,
    sensor_id: `sensor-${index % 3}`,
    source_ip: index % 4 === 0 ? SEEN : `45.0.1.${index}`,
    destination_port: 22 + index,
    tags: [worm.slug, scanner.slug],
    http: { path: `/${index}` },
  }));
  expect(await world.store(observations)).toMatchObject({ accepted: 40 });
});
afterAll(async () => {
  proxy.cut(undefined);
  await world.close();
  await proxy.close();
});
beforeEach(() => proxy.cut(undefined));

const GETS = [
  `/v3/community/${SEEN}`,
  `/v3/community/${SERVICE}`,
  `/v3/community/${UNSEEN}`,
  `/v3/ip/${SEEN}`,
  `/v3/ip/${SERVICE}?quick=true`,
  `/v3/noise/ips/${SEEN}/timeline?days=3&field=http_path`,
  `/v3/tags/${worm.id}/activity?days=2&granularity=4h&include_ips=true`,
  `/v2/noise/quick/${SEEN}`,
  `/v2/noise/context/${SEEN}`,
  `/v2/riot/${SERVICE}`,
];
const POSTS = ["/v3/ip", "/v3/ip?quick=true", "/v2/noise/multi/quick"];
const QUESTIONS = [
  ...GETS.map((path) => ({ path, ask: () => world.get(path) })),
  ...POSTS.map((path) => ({ path, ask: () => world.post(path, { ips: [SEEN, SERVICE, UNSEEN] }) })),
];

const random = seeded(20_261_121);
/** Cut at the start, after a byte, in the middle and near the end. The very last byte is a line break. */
const KEPT: readonly ((bytes: number) => number)[] = [
  () => 0,
  ...atVolume([], [() => 1, (bytes: number) => random.int(2, bytes - 3)]),
  (bytes) => random.int(2, bytes - 3),
  (bytes) => bytes - 2,
];

test("an answer of the store that was cut anywhere leads to a 503, never to an incomplete answer", async () => {
  for (const { path, ask } of QUESTIONS) {
    const whole = await ask();
    for (const looksWhole of [true, false]) {
      for (const keep of KEPT) {
        proxy.cut({ keep, looksWhole });
        const answer = await ask();
        proxy.cut(undefined);
        expect(answer, `${path}, ${looksWhole ? "looking complete" : "truncated"}`).toEqual({
          status: 503,
          body: { message: expect.stringMatching(/again later/) },
        });
      }
    }
    expect(await ask(), `${path}, when answers come whole again`).toEqual(whole);
  }
});

test("while answers are cut, API keys, sensor keys, tags and the retention are served from the cache", async () => {
  const retention = await openRetentionCache(world.client, { intervalMs: 1_000_000 });
  const cuts: Cut[] = [true, false].flatMap((looksWhole) => KEPT.map((keep) => ({ keep, looksWhole })));
  for (const cut of cuts) {
    proxy.cut(cut);
    await expect(world.catalogue.refresh()).rejects.toThrow();
    await expect(world.accessCache.refresh()).rejects.toThrow();
    await expect(retention.refresh()).rejects.toThrow();
    // The tag list and the caller's key come from caches.
    const { status, body } = await world.get("/v3/tags");
    expect([status, body]).toEqual([200, { tags: [expect.anything(), expect.anything()] }]);
    expect(retention.current()).toBe(RETENTION_DAYS);
  }
  retention.stop();
});
