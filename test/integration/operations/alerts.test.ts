import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Roles } from "@noisefloor/cli/serve/service-context.ts";
import { type RunningService, serve } from "@noisefloor/cli/serve.ts";
import { openStore, type Store } from "@noisefloor/cli/store.ts";
import { REJECTION_REASONS } from "@noisefloor/domain/observation.ts";
import { pollConsumerLag } from "@noisefloor/kafka/consumer-lag.ts";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
import { evaluate, type Round, readScrape, type Sample } from "../../support/oracle/promql.ts";
import { startRelay } from "../../support/servers/relay.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { freshKafka } from "../../support/worlds/consuming-world.ts";
import { silent } from "../../support/worlds/http.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const RULES = fileURLToPath(new URL("../../../infra/prometheus/alerts.yaml", import.meta.url));
const rulesSchema = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          for: z.templateLiteral([z.int(), "m"]),
          annotations: z.object({ summary: z.string(), description: z.string().min(20) }),
        }),
      ),
    }),
  ),
});
type Rule = z.output<typeof rulesSchema>["groups"][number]["rules"][number];

const kafka = freshKafka();
const dataDir = join(tmpdir(), kafka.topic);
let world: World;
let store: Store;
const running: RunningService[] = [];
let rules: readonly Rule[];
/** What the processes tell once an observation was stored, as two intakes and a query service. */
let told: readonly Sample[];
let toldAtStart: readonly Sample[];

async function start(roles: Roles): Promise<RunningService> {
  const { settings } = commandOver(world, kafka);
  const { http, clickhouse } = settings;
  const own = { ...settings, http: { ...http, port: 0 }, clickhouse: { ...clickhouse, dataDir } };
  const service = await serve(roles, store, own, silent);
  running.push(service);
  return service;
}

const scrape = async ({ url }: RunningService, instance: string) => {
  const samples = readScrape(await (await fetch(`${url}/metrics`)).text(), { job: "noisefloor", instance });
  const up = { name: "up", labels: { job: "noisefloor", instance }, value: 1 };
  return [up, ...samples.filter(({ name }) => name.startsWith("noisefloor_"))];
};

beforeAll(async () => {
  world = await createWorld(Date.now);
  const { settings, log } = commandOver(world);
  store = await openStore({ settings, log });
  const { groups } = rulesSchema.parse(parse(await readFile(RULES, "utf8")));
  rules = groups.flatMap((group) => group.rules);
  const intake = await start({ ingest: true, query: false });
  const query = await start({ ingest: false, query: true });
  toldAtStart = [...(await scrape(intake, "intake-1")), ...(await scrape(query, "query"))];
  const observation = { observed_at: new Date().toISOString(), sensor_id: "s", source_ip: "45.0.0.1" };
  await fetch(`${intake.url}/v1/observations`, { method: "POST", body: JSON.stringify(observation) });
  await fetch(`${query.url}/v3/community/45.0.0.1`);
  await fetch(`${intake.url}/readyz`);
  await eventually(async () => {
    const first = await scrape(intake, "intake-1");
    const names = new Set(first.map(({ name }) => name));
    expect(names).toContain("noisefloor_last_insert_timestamp_seconds");
    expect(names).toContain("noisefloor_kafka_consumer_lag");
    const second = first.map((sample) => ({ ...sample, labels: { ...sample.labels, instance: "intake-2" } }));
    told = [...first, ...second, ...(await scrape(query, "query"))].map(onLargeDisk).filter(isAskedFor);
  });
});
afterAll(async () => {
  for (const service of running.reverse()) await service.stop();
  await store.close();
  await world.close();
  await rm(dataDir, { recursive: true, force: true });
});

/** Most of what is scraped no rule asks for, and would only take its time in each scenario. */
const isAskedFor = ({ name }: Sample) => rules.some(({ expr }) => expr.includes(name));

/** Whatever the disk of this machine has. */
const onLargeDisk = (sample: Sample): Sample =>
  sample.name === "noisefloor_store_disk_free_bytes" ? { ...sample, value: TERABYTE } : sample;
const TERABYTE = 1e12;

/** A figure that differs from what was scraped, in every series with these labels; undefined where there is none. */
type Change = {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Makes it another series, of the same process and name. */
  readonly as?: Readonly<Record<string, string>>;
  readonly figure: number | undefined;
};
type Scenario = (minute: number, at: number) => readonly Change[];

function applied(samples: readonly Sample[], { name, labels = {}, as = {}, figure }: Change): Sample[] {
  const isMeant = (sample: Sample) =>
    sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value);
  const meant = samples.filter(isMeant);
  expect(meant.length, `nobody tells ${name} ${JSON.stringify(labels)}`).toBeGreaterThan(0);
  const changed = meant.flatMap((sample) =>
    figure === undefined ? [] : [{ ...sample, labels: { ...sample.labels, ...as }, value: figure }],
  );
  return [...samples.filter((sample) => Object.keys(as).length > 0 || !isMeant(sample)), ...changed];
}

/** The alerts that a scenario of an hour ends with, one scrape a minute. */
function firing(scenario: Scenario): string[] {
  const start = Date.now() / 1_000;
  const rounds: Round[] = Array.from({ length: 61 }, (_, minute) => {
    const at = start + minute * 60;
    return { at, samples: scenario(minute, at).reduce<readonly Sample[]>(applied, told) };
  });
  return rules
    .filter(({ expr, for: during }) => {
      const minutes = Number.parseInt(during, 10);
      return Array.from({ length: minutes + 1 }, (_, ago) => rounds.slice(0, rounds.length - ago)).every(
        (until) => evaluate(expr, until).length > 0,
      );
    })
    .map(({ alert }) => alert);
}

const [FIRST, SECOND, QUERY] = ["intake-1", "intake-2", "query"].map((instance) => ({ instance }));
const lag = (partition: number, figure: number) => ({
  name: "noisefloor_kafka_consumer_lag",
  labels: { partition: String(partition) },
  figure,
});
const inserts = (outcome: string, figure: number, of = {}) => ({
  name: "noisefloor_insert_duration_seconds_count",
  labels: { outcome, ...of },
  figure,
});
const lastInsert = (figure: number | undefined, of = {}) => ({
  name: "noisefloor_last_insert_timestamp_seconds",
  labels: { ...of },
  figure,
});
const records = (outcome: string, figure: number) => ({
  name: "noisefloor_ingest_records_total",
  labels: { source: "kafka", outcome },
  figure,
});
const freeBytes = (figure: number) => ({ name: "noisefloor_store_disk_free_bytes", figure });
const diskFloor = (figure: number) => ({ name: "noisefloor_store_disk_floor_bytes", figure });
const answers = (operation: string, status: string, figure: number) => ({
  name: "noisefloor_http_requests_total",
  labels: { operation },
  as: { status },
  figure,
});
const all = (scenario: Scenario): Scenario => {
  return (minute, at) => [...busy(minute, at), ...scenario(minute, at)];
};
/** Much comes, all of it is stored, and some is always on its way. */
const busy: Scenario = (minute, at) => [
  records("accepted", minute * 6_000),
  inserts("stored", minute * 60),
  lastInsert(at - 1),
  lag(0, 40 + (minute % 3)),
  answers("getCommunityIP", "200", minute * 600),
];
const gone = (of: { instance: string } | undefined): Change[] => {
  const names = new Set(told.filter(({ labels }) => labels.instance === of?.instance).map(({ name }) => name));
  names.delete("up");
  return [
    ...[...names].map((name) => ({ name, labels: { ...of }, figure: undefined })),
    { name: "up", labels: { ...of }, figure: 0 },
  ];
};
const tooSlow = ["10", "30", "60", "120", "300", "600", "+Inf"];

const SCENARIOS: readonly (readonly [name: string, scenario: Scenario, alerts: readonly string[]])[] = [
  ["all is well and much comes in", busy, []],
  ["nothing comes in", () => [lag(0, 0), lag(1, 0)], []],
  [
    "the store has taken nothing for a while",
    (minute, at) => [inserts("transient", minute * 10), lastInsert(at - minute * 60), lag(0, minute * 10)],
    ["NoisefloorStoreTakesNothing", "NoisefloorStandsStill"],
  ],
  [
    "no intake could store anything since its start",
    (minute) => [inserts("transient", minute * 10), lastInsert(undefined), lag(0, minute * 10)],
    ["NoisefloorStoreTakesNothing", "NoisefloorStandsStill"],
  ],
  [
    "the store takes what one intake has and not what the other has",
    all((minute) => [inserts("transient", minute * 10, FIRST), inserts("stored", 0, FIRST)]),
    [],
  ],
  ["one intake has had nothing to store for long", all((minute, at) => [lastInsert(at - minute * 60, FIRST)]), []],
  [
    "60,000 messages wait, ever more of them, as both intakes tell",
    all((minute) => [lag(0, 30_000 + minute), lag(1, 30_000)]),
    [],
  ],
  [
    "120,000 messages wait, ever more of them",
    all((minute) => [lag(0, 60_000 + minute), lag(1, 60_000)]),
    ["NoisefloorFallsBehind"],
  ],
  ["120,000 messages wait, ever less of them", all((minute) => [lag(0, 60_000 - minute), lag(1, 60_000)]), []],
  ["one of two intakes is away", all(() => gone(FIRST)), ["NoisefloorDown"]],
  ["both intakes are away", () => [...gone(FIRST), ...gone(SECOND)], ["NoisefloorDown", "NoisefloorNoIntake"]],
  ["the query service is away", () => gone(QUERY), ["NoisefloorDown", "NoisefloorNoQuery"]],
  [
    "an intake's consumer does not run",
    all(() => [{ name: "noisefloor_ready", labels: { check: "kafka", ...FIRST }, figure: 0 }]),
    ["NoisefloorNotReady"],
  ],
  [
    "two records in a hundred are refused",
    all((minute) => [records("unknown-tag", minute * 120)]),
    ["NoisefloorRejectsRecords"],
  ],
  [
    "the disk of the store has less than a tenth free",
    all(() => [freeBytes(4), diskFloor(1)]),
    ["NoisefloorDiskNearlyFull"],
  ],
  [
    "the disk of the store is below its floor",
    all(() => [freeBytes(1), diskFloor(2)]),
    ["NoisefloorDiskNearlyFull", "NoisefloorDiskFull"],
  ],
  ["there is no floor", all(() => [freeBytes(1), diskFloor(0)]), []],
  [
    "refused records take a megabyte a minute",
    all((minute) => [{ name: "noisefloor_dead_letter_bytes_total", labels: { ...FIRST }, figure: minute * 1e6 }]),
    ["NoisefloorDeadLettersGrow"],
  ],
  [
    "a sender has used up its quota of dead letters",
    all((minute) => [{ name: "noisefloor_dead_letters_not_kept_total", labels: { ...FIRST }, figure: minute * 10 }]),
    ["NoisefloorDeadLettersNotKept"],
  ],
  ["one record in a thousand is refused", all((minute) => [records("unknown-tag", minute * 6)]), []],
  [
    "two answers in a hundred are errors",
    all((minute) => [answers("getCommunityIP", "503", minute * 12)]),
    ["NoisefloorFails"],
  ],
  ["only who asks for readiness gets errors", (minute) => [answers("readiness", "503", minute * 12)], []],
  [
    "answers take more than five seconds",
    (minute) =>
      tooSlow.map((le) => ({
        name: "noisefloor_http_request_duration_seconds_bucket",
        labels: { operation: "getCommunityIP", le },
        figure: 1 + minute,
      })),
    ["NoisefloorSlow"],
  ],
  [
    "the shared counter is away",
    all(() => [{ name: "noisefloor_lookup_counter_up", figure: 0 }]),
    ["NoisefloorLookupCounterDown"],
  ],
  [
    "keys cannot be read",
    all((minute) => [{ name: "noisefloor_cache_age_seconds", labels: { cache: "keys" }, figure: minute * 60 }]),
    ["NoisefloorStaleKeys"],
  ],
];

describe.concurrent("alerts", () => {
  test.each(SCENARIOS)("when %s, exactly the right ones fire", (_name, scenario, alerts) => {
    expect(firing(scenario).sort()).toEqual([...alerts].sort());
  });

  test("each of them fires in one of these cases", () => {
    const seen = new Set(SCENARIOS.flatMap(([, , alerts]) => alerts));
    expect(rules.map(({ alert }) => alert).filter((alert) => !seen.has(alert))).toEqual([]);
  });

  test("counts of the intake begin with 0 at its start; when something was stored is told by those who have", () => {
    const names = new Set(toldAtStart.map(({ name }) => name));
    expect(names).not.toContain("noisefloor_last_insert_timestamp_seconds");
    const counts = toldAtStart.filter(({ name }) => /^noisefloor_(?:ingest_records_total|insert_.*_count)$/.test(name));
    expect(counts.every(({ value }) => value === 0)).toBe(true);
    const of = (name: string) => counts.filter((sample) => sample.name === name && sample.labels.instance !== "query");
    expect(of("noisefloor_ingest_records_total")).toHaveLength(2 * (1 + REJECTION_REASONS.length));
    expect(of("noisefloor_insert_duration_seconds_count")).toHaveLength(4);
  });

  test("a lag that could not be read at first is told once the brokers are there", async () => {
    const [host = "", port = ""] = (inject("kafkaBrokers").split(",")[0] ?? "").split(":");
    const relay = await startRelay(host, Number(port));
    await relay.stop();
    let failures = 0;
    const log = silent.child({}, { level: "silent" });
    log.debug = () => void failures++;
    const watched = pollConsumerLag({ ...kafka.connection, brokers: [`127.0.0.1:${relay.port}`] }, kafka, log);
    await eventually(async () => expect(failures).toBeGreaterThan(0));
    await relay.pass();
    await eventually(async () => expect([...watched.current()]).not.toEqual([]));
    await watched.stop();
    await relay.stop();
  });
});
