import { DEFAULTS, runSimulate, type SimulateOptions } from "@noisefloor/cli/commands/simulate.ts";
import { openInternet } from "@noisefloor/cli/simulation/open.ts";
import { simulate } from "@noisefloor/cli/simulation/simulate.ts";
import { STARTER_FOLDER } from "@noisefloor/cli/tags/starter-tags.ts";
import { readSensorSummaries } from "@noisefloor/clickhouse/sensors/sensor-summaries.ts";
import { readDailyObservations } from "@noisefloor/clickhouse/storage/growth.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import { type Tag, tagIdFromSlug } from "@noisefloor/domain/tags/tag.ts";
import { openEnricher } from "@noisefloor/ingest/rows/enrichment/open-enricher.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { createTagger } from "@noisefloor/ingest/tagging/compiled/tagger.ts";
import { readFolder } from "@noisefloor/ingest/tagging/rule-files/lint.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { expectedActivity } from "../../support/oracle/expected-activity.ts";
import { classOf, createOracle, type Oracle, type Seen } from "../../support/oracle/oracle.ts";
import { readStored } from "../../support/oracle/stored-observations.ts";
import { testInFull } from "../../support/test-in-full.ts";
import { atVolume } from "../../support/volume.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const DAY = 86_400_000;
const OPTIONS = {
  ...DEFAULTS,
  seed: 5,
  days: 2,
  perDay: atVolume(300, 2_000),
  sources: atVolume(150, 600),
  until: new Date(NOW).toISOString(),
};

let world: World;
let key: string;
let simulated: readonly Seen[];
let tags: readonly Tag[];
let oracle: Oracle;
/** How many observations a simulation makes. */
let made: number;
let before: Record<string, unknown>;

/** The simulated observations with the tags of all rules, each looked at by itself. */
async function expectSimulated(): Promise<Seen[]> {
  const databases = await openEnricher({ mmdbPaths: [], log: { warn: () => {} } });
  const internet = await openInternet({ seed: OPTIONS.seed, sources: OPTIONS.sources, databases });
  const rules = (await readFolder(STARTER_FOLDER)).flatMap((file) => file.tags.flatMap(({ rule }) => rule ?? []));
  const { tagsFor } = createTagger(rules);
  const span = { from: NOW - OPTIONS.days * DAY, to: NOW, perDay: OPTIONS.perDay };
  return [...simulate(internet, span)].map(({ observation: wire, observedAt: at }) => {
    const slugs = new Set([...wire.tags, ...tagsFor(databases.enrich({ ...wire }))]);
    const workspace = wire.workspace_id === undefined ? {} : { workspaceId: wire.workspace_id };
    return { ip: wire.source_ip, at, dataset: wire.dataset, ...workspace, tagIds: [...slugs].map(tagIdFromSlug) };
  });
}

const run = async (more: Partial<SimulateOptions> = {}) => {
  const command = commandOver(world);
  await runSimulate({ ...OPTIONS, ...more }, command);
  await world.refresh();
  return command.lines.join("\n");
};

async function query(sql: string): Promise<unknown> {
  const result = await world.client.query({ query: sql, format: "JSONEachRow" });
  return z.array(z.record(z.string(), z.unknown())).parse(await result.json());
}

/** All that rollups say. */
const readRollups = async () => ({
  activity: await query(`SELECT tag_id, dataset, workspace_id, hour, arraySort(groupUniqArrayMerge(ips)) AS ips FROM (
      SELECT tag_id, dataset, workspace_id, hour, groupUniqArrayState(source_ip) AS ips FROM (
        SELECT arrayJoin(tags) AS tag_id, dataset, workspace_id, toStartOfHour(observed_at, 'UTC') AS hour, source_ip
        FROM observations) GROUP BY ALL) GROUP BY ALL ORDER BY ALL`),
  counts: await query(`SELECT tag_id, dataset, workspace_id, hour, uniqExactMerge(addresses) AS addresses
    FROM tag_activity_hourly GROUP BY ALL ORDER BY ALL`),
  addresses: await query("SELECT * FROM tag_addresses FINAL ORDER BY ALL"),
  tags: await query("SELECT * FROM address_tags FINAL ORDER BY ALL"),
});

beforeAll(async () => {
  world = await createWorld(() => NOW);
  key = await world.addCaller("unlimited", ["community_dataset"], "default");
  simulated = await expectSimulated();
  made = simulated.length;
  // Observations of others: of simulated and other addresses, in the same hours, with the same and other tags.
  await world.addTags(["ssh-scanner", "late"].map((slug) => makeTag(slug, "unknown", { id: tagIdFromSlug(slug) })));
  const others = simulated.filter((_, index) => index % 40 === 0);
  await world.store(
    others.flatMap(({ ip, at, dataset }, index) => [
      observation(ip, at - 1, { observation_id: `a-${index}`, tags: ["ssh-scanner"], ...sharedIn(dataset) }),
      observation(`45.9.0.${index % 250}`, at - 2, { observation_id: `b-${index}`, tags: ["late"] }),
    ]),
  );
  before = await readRollups();
  await run();
  tags = await tagRecords.read(world.client);
  const own = others.flatMap(({ ip, at, dataset }, index): Seen[] => [
    { ip, at: at - 1, dataset: sharedIn(dataset).dataset, tagIds: [tagIdFromSlug("ssh-scanner")] },
    { ip: `45.9.0.${index % 250}`, at: at - 2, dataset: "global", tagIds: [tagIdFromSlug("late")] },
  ]);
  simulated = [...simulated, ...own];
  oracle = createOracle(simulated, tags);
});
afterAll(() => world.close());

const sharedIn = (dataset: string) => ({ dataset: dataset === "community" ? "community" : "global" });

async function assertAnswers() {
  const counts = new Map<string, number>();
  for (const { tagIds } of simulated) for (const id of tagIds) counts.set(id, (counts.get(id) ?? 0) + 1);
  const byCount = tags.toSorted((one, other) => (counts.get(other.id) ?? 0) - (counts.get(one.id) ?? 0));
  for (const [index, tag] of [...byCount.slice(0, 8), ...byCount.slice(8).filter((_, at) => at % 40 === 0)].entries()) {
    const datasets = index % 2 === 0 ? ["global"] : ["global", "community"];
    const asked = { tag, days: 3, hours: index % 3 === 0 ? 1 : 24, datasets, includeIps: true, now: NOW };
    const path = `/v3/tags/${tag.id}/activity?days=3&granularity=${asked.hours}h&include_ips=1&workspace_labels=${datasets.join(",")}`;
    expect(await world.get(path, { key }), tag.slug).toEqual({ status: 200, body: expectedActivity(oracle, asked) });
  }
  const seen = simulated.filter(({ dataset }) => dataset === "global");
  const ips = [...new Set(seen.map(({ ip }) => ip))];
  for (const ip of ips.filter((_, index) => index % 37 === 0)) {
    const own = seen.filter((one) => one.ip === ip);
    const classification = classOf(own, tags, false);
    const last_seen = new Date(Math.max(...own.map(({ at }) => at))).toISOString().slice(0, 10);
    const body = { ip, noise: true, classification, last_seen };
    expect(await world.get(`/v3/community/${ip}`, { key })).toMatchObject({ status: 200, body });
  }
}

test("a back-fill answers exactly what the oracle says of its observations and of all others", async () => {
  await assertAnswers();
});

/** What the page of the sensors shows of the simulated ones, by name. */
async function sensorCounts() {
  const summaries = await readSensorSummaries(world.client, NOW);
  const own = summaries.filter(({ source }) => source === "simulation");
  return own.map(({ sensorId, week, isSilent }) => ({ sensor: sensorId, records: week.accepted, isSilent }));
}

test("each simulated sensor counts what is stored of it, also after a second run, and none is missed when it ends", async () => {
  const sql = `SELECT sensor_id AS sensor, toUInt32(count()) AS records FROM observations FINAL
    WHERE startsWith(sensor_id, 'demo-') GROUP BY sensor ORDER BY sensor`;
  const stored = z.array(z.object({ sensor: z.string(), records: z.int() })).parse(await query(sql));
  expect(stored.length).toBeGreaterThan(5);
  const expected = stored.map((one) => ({ ...one, isSilent: false }));
  expect(await sensorCounts()).toEqual(expected);
  await run();
  expect(await sensorCounts()).toEqual(expected);
  expect(await readDailyObservations(world.client, "demo-")).toBeUndefined();
});

test("every simulated observation has a country, and most have tags", async () => {
  const summary = `SELECT countIf(country = '') AS nowhere, countIf(notEmpty(tags)) > count() * 0.9 AS tagged,
    countIf(asn = 0) < count() * 0.05 AS networks FROM observations FINAL WHERE startsWith(sensor_id, 'demo-')`;
  expect(await query(summary)).toEqual([{ nowhere: expect.anything(), tagged: 1, networks: 1 }]);
  expect(JSON.stringify(await query(summary))).toMatch(/"nowhere":"?0"?[,}]/);
});

testInFull("a second run, straight or over HTTP, stores nothing new and changes no answer", async () => {
  const stored = await readStored(world);
  const rollups = await readRollups();
  expect(await run()).toMatch(/stored {4,5}\d{3,4}/);
  expect(await readStored(world)).toEqual(stored);
  expect(await readRollups()).toEqual(rollups);
  const ingest = await ingestOf(world, undefined, () => NOW);
  const app = await makeApp(INGEST_OPERATIONS, ingest.register);
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  expect(await run({ to: url, days: 1 })).toMatch(/accepted {2,3}\d{3,4}/);
  await app.close();
  expect(await readStored(world)).toEqual(stored);
  await assertAnswers();
});

test("--remove deletes what was simulated, and leaves exactly what others have sent", async () => {
  expect(await run({ remove: true })).toMatch(/^deleted {3}\d{3,4} observations of sensors named demo-\.\.\.$/);
  expect(await readRollups()).toEqual(before);
  expect(await sensorCounts()).toEqual([]);
  expect(JSON.parse(await run({ remove: true, json: true }))).toEqual({ is_complete: true, deleted: 0 });
  // The same observations can be simulated again.
  const again: unknown = JSON.parse(await run({ json: true }));
  const counts = { simulated: made, accepted: made, left_out: 0, seconds: expect.any(Number) };
  expect(again).toEqual({ is_complete: true, back_fill: counts, live: null });
  await assertAnswers();
});

test("what cannot be simulated is refused in words", async () => {
  const refused = async (more: Partial<SimulateOptions>) =>
    run(more).then(
      () => "accepted",
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
  expect(await refused({ days: 1_000 })).toMatch(/^only \d+ days are kept, and --days 1000 goes further back$/);
  expect(await refused({ to: "nowhere" })).toMatch(/^--to takes "store", "kafka" or a URL/);
  expect(await refused({ to: "kafka" })).toBe("--to kafka needs KAFKA_BROKERS");
  expect(await refused({ until: "yesterday" })).toMatch(/^--until takes a time like/);
});
