import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { networkList } from "../../support/builders/network-list.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { eventually } from "../../support/eventually.ts";
import {
  expectedClassifications,
  expectedCountries,
  expectedFirstSeen,
  expectedHours,
  expectedNetworks,
  expectedObservations,
  expectedOfCountry,
  expectedOfNetwork,
  expectedSummary,
  type Placed,
} from "../../support/oracle/expected-stats.ts";
import { createOracle, type Oracle } from "../../support/oracle/oracle.ts";
import { atVolume } from "../../support/volume.ts";
import { startIndex } from "../../support/worlds/address-index.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const NOW = Date.now();
const DATASETS = ["global", "community"] as const;
const TAGS = Array.from({ length: 9 }, (_, index) =>
  makeTag(`tag-${index}`, INTENTIONS[index % INTENTIONS.length] ?? "unknown"),
);
const SEEDS = atVolume([1], [1, 2, 3]);
const QUESTIONS = atVolume(5, 80);
const OBSERVATIONS = atVolume(2_500, 20_000);

/** Some ahead of time, as clocks are; most of the last days; many on the very edge of an hour. */
function randomTime(random: Random): number {
  const age = random.chance(0.5) ? random.int(0, 3 * DAY) : random.int(-4 * 60_000, 90 * DAY - 1);
  const at = NOW - age;
  return random.chance(0.2) ? Math.floor(at / HOUR) * HOUR - random.int(0, 1) : at;
}

function makeObservations(random: Random): Placed[] {
  const population = Array.from({ length: 600 }, (_, index) => `45.${index % 7}.${index >> 8}.${index & 255}`);
  const asns = [0, 0, ...Array.from({ length: 12 }, (_, index) => 64_500 + index)];
  return Array.from({ length: OBSERVATIONS }, () => {
    const ip = random.pick(population);
    const asn = random.pick(asns);
    return {
      ip,
      at: randomTime(random),
      dataset: random.chance(0.7) ? "global" : "community",
      tagIds: random.chance(0.3) ? [] : [...new Set([random.pick(TAGS).id, random.pick(TAGS.slice(0, 2)).id])],
      asn,
      organization: asn === 0 ? "" : random.pick(["", `Net ${asn}`, `Net ${asn} Ltd`]),
      country: random.pick(["", "DE", "VN", "BR", "QZ"]),
      commands: random.chance(0.05) ? ["uname -a"] : [],
      transport: "tcp",
    };
  });
}

/** Late, out of order, in batches of any size, many of them twice in different batches. */
async function deliver(world: World, seen: readonly Placed[], random: Random): Promise<void> {
  const wire = seen.map(({ ip, at, dataset, tagIds, asn, organization, country, commands, transport }, index) => ({
    observation_id: `o-${index}`,
    observed_at: new Date(at).toISOString(),
    sensor_id: `sensor-${index % 5}`,
    source_ip: ip,
    dataset,
    tags: tagIds,
    transport,
    commands,
    ...(asn === 0 ? {} : { asn }),
    ...(organization === "" ? {} : { organization }),
    ...(country === "" ? {} : { country }),
  }));
  const queue = random.shuffle([...wire, ...wire.filter(() => random.chance(0.3))]);
  while (queue.length > 0) {
    const { rejected } = await world.store(queue.splice(0, random.int(1, 4_000)));
    expect(rejected).toEqual([]);
  }
}

const questions = fc.record({
  days: fc.oneof(fc.integer({ min: 1, max: 90 }), fc.constantFrom(1, 7, 30, 90)),
  datasets: fc.subarray([...DATASETS], { minLength: 0 }),
  limit: fc.constantFrom(1, 3, 5, 50),
  asn: fc.integer({ min: 64_500, max: 64_512 }),
  country: fc.constantFrom("DE", "VN", "QZ"),
  sort: fc.constantFrom("trending", "anomalies", "active"),
});

describe.each(SEEDS)("random observations, seed %i", (seed) => {
  let world: World;
  let seen: Placed[];
  let key: string;

  beforeAll(async () => {
    const random = seeded(seed);
    world = await createWorld(() => NOW);
    await world.addTags(TAGS);
    seen = makeObservations(random);
    await deliver(world, seen, random);
    key = await world.addCaller("unlimited", ["community_dataset"]);
  });
  afterAll(() => world.close());

  const assertAnswers = async (get: (path: string) => Promise<unknown>, oracle: Oracle, numRuns: number) => {
    await fc.assert(
      fc.asyncProperty(questions, async ({ days, datasets, limit, asn, country, sort }) => {
        const labels = datasets.length === 0 ? "" : `&workspace_labels=${datasets.join(",")}`;
        const asked = { days, datasets: datasets.length === 0 ? ["global"] : datasets, now: NOW, limit };
        const week = { ...asked, days: Math.min(days, 7), sort };
        const path = (name: string) => `/v3/stats/${name}?days=${days}${labels}`;
        const hours = { ...asked, days: Math.min(days, 30) };
        expect(await get(`/v3/stats/hours?days=${hours.days}${labels}`)).toEqual(expectedHours(seen, hours));
        const observations = `/v3/stats/observations?days=${week.days}${labels}`;
        expect(await get(observations)).toEqual(expectedObservations(seen, week));
        expect(await get(`${path("networks")}&limit=${limit}`)).toEqual(expectedNetworks(seen, asked));
        expect(await get(`${path("countries")}&limit=${limit}`)).toEqual(expectedCountries(seen, asked));
        const ofNetwork = await get(`${path(`networks/AS${asn}`)}&limit=${limit}`);
        expect(ofNetwork).toEqual(expectedOfNetwork(seen, asked, asn));
        const ofCountry = await get(`${path(`countries/${country}`)}&limit=${limit}`);
        expect(ofCountry).toEqual(expectedOfCountry(seen, asked, country));
        const fresh = `/v3/stats/first-seen?days=${hours.days}&limit=${limit}${labels}`;
        expect(await get(fresh)).toEqual(expectedFirstSeen(seen, hours));
        expect(await get(path("classifications"))).toEqual(expectedClassifications(seen, oracle, asked));
        const summary = `/v3/summary/tags?sort=${sort}&days=${week.days}&limit=${limit}${labels}`;
        expect(await get(summary)).toEqual(expectedSummary(seen, TAGS, week));
      }),
      { seed, numRuns },
    );
  };
  const fromStore = async (path: string) => (await world.get(path, { key })).body;

  test("counts and lists of addresses by hour, network, country, classification, tag and first time are the oracle's", () =>
    assertAnswers(fromStore, createOracle(seen, TAGS), QUESTIONS));

  test("with addresses in memory and known actors, classifications are the oracle's, too", async () => {
    await world.replaceNetworks("actor", [networkList("census", ["45.3.0.0/16"])]);
    const index = await startIndex(world, {
      limit: 1_000_000,
      retentionDays: () => RETENTION_DAYS,
      now: () => NOW,
      intervalMs: 250,
    });
    await eventually(async () => expect(index.isCurrent()).toBe(true));
    const app = await makeApp([], (made, metrics) => world.register(made, metrics, { index }));
    const oracle = createOracle(seen, TAGS, (ip) => ip.startsWith("45.3."));
    const runs = Math.ceil(QUESTIONS / 4);
    await assertAnswers(async (url) => (await app.inject({ url, headers: { key } })).json(), oracle, runs);
    await assertAnswers(fromStore, oracle, runs);
    await app.close();
    await index.stop();
  });
});
