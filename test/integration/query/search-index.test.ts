import { removeObservations } from "@noisefloor/clickhouse/rollups/remove-observations.ts";
import type { FacetIndexOptions } from "@noisefloor/query/facet-index/facet-index.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeMarked, makeScopes, toWire } from "../../support/builders/marked-observations.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { randomQuery } from "../../support/builders/search-query.ts";
import { eventually } from "../../support/eventually.ts";
import {
  CONDITIONS,
  DATASETS,
  DAY,
  HOUR,
  NOW,
  openSearchWorld,
  SEEN,
  type SearchWorld,
  TAGS,
  wordsOf,
} from "../../support/query/search-world.ts";
import { atVolume } from "../../support/volume.ts";
import { startSearchIndex } from "../../support/worlds/facet-index.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

const QUERIES = atVolume(20, 300);
const TIMEOUT_MS = 600_000;
const PATHS = ["/count", "", "/stats", "/values"];
type Parameters = Readonly<Record<string, string>>;

let searched: SearchWorld;
beforeAll(async () => {
  searched = await openSearchWorld();
});
afterAll(() => searched.world.close());

/** The search over an index of its own that polls often. */
async function openIndexed(world: World, more: Partial<FacetIndexOptions> = {}) {
  const facetIndex = startSearchIndex(world, {
    retentionDays: () => RETENTION_DAYS,
    now: () => NOW,
    intervalMs: 50,
    ...more,
  });
  const app = await makeApp([], (made, metrics) => world.register(made, metrics, { facetIndex }));
  /** @returns also where the answer is from: `memory` or `store`. */
  const ask = async (path: string, parameters: Parameters, key: string) => {
    const url = `/v3/gnql${path}?${new URLSearchParams(parameters)}`;
    const response = await app.inject({ url, headers: { key } });
    return { url, from: String(response.headers["server-timing"]).replace("read;desc=", ""), body: response.json() };
  };
  return {
    facetIndex,
    ask,
    /** Asks until all fields are in memory. */
    async loadAll(key: string) {
      for (const dataset of ["global", "community"]) {
        for (const path of ["/stats", "/values"]) {
          const parameters = { query: "organization:*", workspace_labels: dataset };
          await eventually(async () => expect((await ask(path, parameters, key)).from).toBe("memory"));
        }
      }
    },
    async close() {
      await app.close();
      await facetIndex.stop();
    },
  };
}

function makeParameters(random: Random, query: string): Parameters {
  return {
    query,
    workspace_labels: random.pick(["global", "global", "global,community", "community", DATASETS.join(",")]),
    quick: "true",
    size: String(random.pick([1, 7, 1_000])),
    ...(random.chance(0.3) ? { days: random.pick(["1", "7", "30"]) } : {}),
  };
}

test("searches that memory answers have the bodies that the store gives, within a plan's reach too", {
  timeout: TIMEOUT_MS,
}, async () => {
  const random = seeded(11);
  const indexed = await openIndexed(searched.world);
  const keys = [
    ...searched.callers.map(({ key }) => key),
    await searched.world.addCaller("standard", ["sensors", "community_dataset"]),
  ];
  await indexed.loadAll(random.pick(keys));
  const randomQueries = Array.from({ length: QUERIES }, () => randomQuery(random, wordsOf(SEEN), random.int(0, 4)));
  let fromMemory = 0;
  const long = Array.from({ length: 200 }, (_, index) => `(port:${index} -path:*${index}*)`).join(" OR ");
  for (const query of ["*", "NOT port:22", long, ...CONDITIONS.flat(), ...randomQueries]) {
    const [key, parameters] = [random.pick(keys), makeParameters(random, query)];
    const { url, from, body } = await indexed.ask(random.pick(PATHS), parameters, key);
    expect(body, url).toEqual((await searched.world.get(url, { key })).body);
    if (from === "memory") fromMemory++;
  }
  expect(fromMemory).toBeGreaterThan(QUERIES);
  await indexed.close();
});

test("what is stored late, again or for the first time shows in memory as in the store, and what is removed is gone", {
  timeout: TIMEOUT_MS,
}, async () => {
  const random = seeded(12);
  const { world, callers } = searched;
  const [{ key }] = callers;
  const indexed = await openIndexed(world);
  await indexed.loadAll(key);
  const more = makeMarked(random, { scopes: makeScopes([]), tags: TAGS, count: 200, now: NOW });
  const queue = random.shuffle([...more, ...more, ...SEEN.slice(0, 100)]).map(toWire);
  const all = [...SEEN, ...more];
  const questions = ["*", "NOT port:22", "tags:*", "organization:*", ...CONDITIONS.flat()];
  const expectSame = async () => {
    for (const query of [...random.shuffle(questions).slice(0, 6), randomQuery(random, wordsOf(all), 2)]) {
      const parameters = { ...makeParameters(random, query), workspace_labels: random.pick(["global", "community"]) };
      const path = random.pick(PATHS);
      // A search of few values shows what was stored with the next poll.
      await eventually(async () => {
        const { url, body, from } = await indexed.ask(path, parameters, key);
        expect(body, url).toEqual((await world.get(url, { key })).body);
        if (questions.includes(query)) expect([from, query]).toEqual([isInMemory(query) ? "memory" : "store", query]);
      });
    }
  };
  while (queue.length > 0) {
    await world.store(queue.splice(0, random.int(50, 250)));
    await expectSame();
  }
  await removeObservations(world.client, { sensors: ["roaming"] });
  await expectSame();
  await indexed.close();
});

/** Conditions on these are about observations, which memory does not have. */
const isInMemory = (query: string) => !/sensor|method|protocol|region|city/.test(query);

test("at each millisecond an address is found as long as it is seen inside a window, and not longer", async () => {
  let now = Math.floor(NOW / HOUR) * HOUR;
  const retentionDays = 30;
  const world = await createWorld(() => now, { retentionDays });
  const key = await world.addCaller("unlimited");
  const indexed = await openIndexed(world, { now: () => now, retentionDays: () => retentionDays });
  const start = now;
  const times = [0, 1, HOUR / 2, HOUR - 1, HOUR, HOUR + 1].map((ms) => start - 20 * DAY + ms);
  await world.store(
    times.flatMap((time, index) =>
      Array.from({ length: 3 }, (_, address) => ({
        ...{ sensor_id: "s", source_ip: `45.0.${index}.${address}`, dataset: "global", tags: [] },
        observed_at: new Date(time).toISOString(),
        destination_port: 22,
        transport: "tcp",
      })),
    ),
  );
  const queries = ["port:22", "NOT port:23", "*"];
  for (const query of queries) {
    await eventually(async () => expect(await indexed.ask("/count", { query }, key)).toMatchObject({ from: "memory" }));
  }
  for (const time of times) {
    for (const ms of [-1, 0, 1]) {
      now = time + ms + retentionDays * DAY;
      const count = 3 * times.filter((one) => one >= time + ms).length;
      for (const query of queries) {
        expect(await indexed.ask("/count", { query }, key)).toMatchObject({ from: "memory", body: { count } });
      }
    }
  }
  await indexed.close();
  await world.close();
});

test("without a poll that succeeds, and beyond its memory, searches are answered by the store", async () => {
  const { world, callers } = searched;
  const [{ key }] = callers;
  const errors: unknown[] = [];
  const indexed = await openIndexed(world, { maxAgeMs: 400, onError: (error) => errors.push(error) });
  const expectFrom = (from: string) =>
    eventually(async () => expect(await indexed.ask("/count", { query: "port:*" }, key)).toMatchObject({ from }));
  await expectFrom("memory");
  await world.client.command({ query: "RENAME TABLE observation_changes TO observation_changes_away" });
  await expectFrom("store");
  // On a busy machine it may be too old before a poll has failed.
  await eventually(async () => expect(errors.length).toBeGreaterThan(0));
  await world.client.command({ query: "RENAME TABLE observation_changes_away TO observation_changes" });
  await expectFrom("memory");
  await indexed.close();

  const tooLarge: string[] = [];
  const small = await openIndexed(world, { maxBytes: 100_000, onTooLarge: ({ field }) => tooLarge.push(field) });
  await eventually(async () => {
    expect(await small.ask("/count", { query: "port:*" }, key)).toMatchObject({ from: "store" });
    expect(tooLarge).toContain("global seen");
  });
  expect(small.facetIndex.bytes()).toBeLessThan(100_000);
  await small.close();
});
