import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { networkList } from "../../support/builders/network-list.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { eventually } from "../../support/eventually.ts";
import { expectedActivity } from "../../support/oracle/expected-activity.ts";
import { createOracle, type Oracle, type Seen } from "../../support/oracle/oracle.ts";
import { atVolume } from "../../support/volume.ts";
import { startIndex } from "../../support/worlds/address-index.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

const DAY = 24 * 60 * 60 * 1000;
const NOW = Date.now();
const DATASETS = ["global", "community", "personal"] as const;
const [WORKSPACE, OTHER_WORKSPACE] = ["team", "other-team"];
const TAGS = Array.from({ length: 10 }, (_, index) =>
  makeTag(`tag-${index}`, INTENTIONS[index % INTENTIONS.length] ?? "unknown"),
);
const SEEDS = atVolume([1], [1, 2, 3]);
const QUESTIONS_PER_SEED = atVolume(8, 45);
const OBSERVATIONS = atVolume(7_000, 30_000);
const LOOKUPS_PER_SEED = atVolume(25, 300);

/** Random observations of 90 days: some tags with thousands of addresses, some with hardly any. */
function makeObservations(random: Random): Seen[] {
  const population = Array.from({ length: 5_000 }, (_, index) => `45.${index % 7}.${index >> 8}.${index & 255}`);
  return Array.from({ length: OBSERVATIONS }, () => {
    // Half of all observations carry one of the first two tags.
    const tags = random.chance(0.1)
      ? []
      : Array.from({ length: random.int(1, 3) }, () => random.pick(TAGS.slice(0, random.chance(0.5) ? 2 : 10)));
    const age = random.chance(0.4) ? random.int(0, 2 * DAY) : random.int(0, 90 * DAY - 1);
    return {
      ip: random.pick(population),
      at: NOW - age,
      dataset: random.chance(0.6) ? "global" : random.pick(DATASETS.slice(1)),
      workspaceId: random.chance(0.7) ? WORKSPACE : OTHER_WORKSPACE,
      tagIds: [...new Set(tags.map(({ id }) => id))],
      transport: random.pick(["tcp", "udp"]),
      loginAttempts: random.chance(0.2) ? 1 : 0,
    };
  });
}

/** Sends them late and out of order, in batches of any size, many of them twice in different batches. */
async function deliver(world: World, seen: readonly Seen[], random: Random): Promise<void> {
  const wire = seen.map(({ ip, at, dataset, workspaceId, tagIds, transport, loginAttempts }, index) => ({
    observation_id: `o-${index}`,
    observed_at: new Date(at).toISOString(),
    sensor_id: `sensor-${index % 5}`,
    source_ip: ip,
    dataset,
    ...(dataset === "personal" ? { workspace_id: workspaceId } : {}),
    transport,
    login_attempts: loginAttempts,
    tags: tagIds.map((id, place) => ((index + place) % 2 === 0 ? id : (TAGS.find((tag) => tag.id === id)?.slug ?? id))),
  }));
  const queue = random.shuffle([...wire, ...wire.filter(() => random.chance(0.3))]);
  while (queue.length > 0) {
    const batch = queue.splice(0, random.int(1, 9_000));
    const { rejected } = await world.store(batch);
    expect(rejected).toEqual([]);
  }
}

/** Some tags have more rows and addresses, others fewer: by default those of any tag here are counted from its rows. */
const [MAX_ROWS, MAX_LISTED] = [1_500, 1_000];
const COUNTED_BY_STORE = { rows: 1, words: 1 };

/** However late polls are on a busy machine, the index answers. */
const MAX_AGE_MS = 60_000;

/** The interface in each way in which it counts, lists and classifies addresses. */
async function openWays(world: World) {
  const key = await world.addCaller("unlimited", ["community_dataset"], WORKSPACE);
  const index = await startIndex(world, {
    limit: 1_000_000,
    retentionDays: () => RETENTION_DAYS,
    now: () => NOW,
    intervalMs: 250,
    maxAgeMs: MAX_AGE_MS,
  });
  await eventually(async () => expect(index.isCurrent()).toBe(true));
  const ways = [
    {},
    { maxInProcess: COUNTED_BY_STORE },
    { index, maxListed: MAX_LISTED, maxInProcess: { rows: MAX_ROWS, words: 2 ** 22 } },
    { index, maxInProcess: COUNTED_BY_STORE },
  ];
  const apps = await Promise.all(ways.map((way) => makeApp([], (made, metrics) => world.register(made, metrics, way))));
  return {
    /** The answer, which is the same in each way. */
    async get(url: string): Promise<unknown> {
      expect(index.isCurrent()).toBe(true);
      const bodies = await Promise.all(apps.map(async (app) => (await app.inject({ url, headers: { key } })).body));
      expect(bodies.map((body) => body === bodies[0])).toEqual(ways.map(() => true));
      return JSON.parse(bodies[0] ?? "");
    },
    async close() {
      await Promise.all(apps.map((app) => app.close()));
      await index.stop();
    },
  };
}

type Asked = {
  readonly tag: Tag;
  readonly days: number;
  readonly hours: number;
  readonly datasets: (typeof DATASETS)[number][];
  readonly includeIps: boolean;
};

const questions: fc.Arbitrary<Asked> = fc.record({
  tag: fc.constantFrom(...TAGS),
  days: fc.oneof(fc.integer({ min: 1, max: 90 }), fc.constantFrom(1, 7, 30, 90)),
  hours: fc.oneof(fc.integer({ min: 1, max: 168 }), fc.constantFrom(1, 24, 168)),
  datasets: fc.subarray([...DATASETS], { minLength: 0 }),
  includeIps: fc.boolean(),
});

/** Asked for each seed: about a frequent tag, whose bucket holds more addresses than an answer lists. */
const LARGE_BUCKETS = TAGS.slice(0, 1).map((tag): [Asked] => [
  { tag, days: 7, hours: 168, datasets: [...DATASETS], includeIps: true },
]);

describe.each(SEEDS)("random observations, seed %i", (seed) => {
  let world: World;
  let seen: Seen[];
  let visible: Seen[];
  let oracle: Oracle;
  let ways: Awaited<ReturnType<typeof openWays>>;

  beforeAll(async () => {
    const random = seeded(seed);
    world = await createWorld(() => NOW);
    await world.addTags(TAGS);
    seen = makeObservations(random);
    visible = seen.filter(({ dataset, workspaceId }) => dataset !== "personal" || workspaceId === WORKSPACE);
    oracle = createOracle(visible, TAGS);
    await deliver(world, seen, random);
    ways = await openWays(world);
  });
  afterAll(async () => {
    await ways.close();
    await world.close();
  });

  const assertAnswers = async (expectations: Oracle, numRuns: number) => {
    let truncated = 0;
    await fc.assert(
      fc.asyncProperty(questions, async ({ tag, days, hours, datasets, includeIps }) => {
        const asked = datasets.length === 0 ? ["global"] : datasets;
        const labels = datasets.length === 0 ? "" : `&workspace_labels=${datasets.join(",")}`;
        const path = `/v3/tags/${tag.id}/activity?days=${days}&granularity=${hours}h&include_ips=${includeIps}${labels}`;
        const expected = expectedActivity(expectations, { tag, days, hours, datasets: asked, includeIps, now: NOW });
        if (expected.metadata.ips_truncated) truncated++;
        expect(await ways.get(path)).toEqual(expected);
      }),
      { seed, numRuns, examples: LARGE_BUCKETS },
    );
    expect(truncated, "no question met a bucket with more than 1,000 addresses").toBeGreaterThan(0);
  };

  test("every random question is answered as the oracle answers it, from the store and with addresses in memory", () =>
    assertAnswers(oracle, QUESTIONS_PER_SEED));

  test("a community lookup equals the oracle's record of the address in the global dataset", async () => {
    const addresses = [...new Set(seen.map(({ ip }) => ip)), "45.200.1.1", "45.200.1.2"];
    const asked = seeded(seed).shuffle(addresses).slice(0, LOOKUPS_PER_SEED);
    const answers = await Promise.all(asked.map((ip) => world.get(`/v3/community/${ip}`)));
    for (const [index, ip] of asked.entries()) {
      const last = oracle.lastSeen(ip, ["global"]);
      const found = {
        ip,
        noise: true,
        riot: false,
        classification: oracle.classification(ip, ["global"]),
        name: "unknown",
        link: `http://noisefloor.test/ip/${ip}`,
        last_seen: last === undefined ? "" : new Date(last).toISOString().slice(0, 10),
        message: "Success",
      };
      const missed = {
        ip,
        noise: false,
        riot: false,
        message: "IP not observed scanning the internet or contained in RIOT data set.",
      };
      expect(answers[index]).toEqual(last === undefined ? { status: 404, body: missed } : { status: 200, body: found });
    }
  });

  test("addresses of known actors count as benign, unless they attacked", async () => {
    await world.replaceNetworks("actor", [networkList("census", ["45.3.0.0/16"])]);
    await assertAnswers(
      createOracle(visible, TAGS, (ip) => ip.startsWith("45.3.")),
      Math.ceil(QUESTIONS_PER_SEED / 2),
    );
  });
});
