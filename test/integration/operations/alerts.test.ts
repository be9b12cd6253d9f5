import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type RunningService, serve } from "@noisefloor/cli/process/serve.ts";
import type { Roles } from "@noisefloor/cli/process/service-context.ts";
import { openStore } from "@noisefloor/cli/store/prepare-store.ts";
import type { Store } from "@noisefloor/cli/store/store.ts";
import { REJECTION_REASONS } from "@noisefloor/domain/observation/observation.ts";
import { pollConsumerLag } from "@noisefloor/kafka/consumer-lag.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { evaluate, type Round, readScrape, type Sample } from "../../support/alerts/promql.ts";
import { ALERT_SCENARIOS, applyChange, type Scenario, wellAtFirst } from "../../support/alerts/scenarios.ts";
import { eventually } from "../../support/eventually.ts";
import { onDemand } from "../../support/servers/on-demand.ts";
import { startRelay } from "../../support/servers/relay.ts";
import { testInFull } from "../../support/test-in-full.ts";
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

const kafka = await freshKafka();
const dataDir = join(tmpdir(), kafka.topic);
let world: World;
let store: Store;
const running: RunningService[] = [];
let rules: readonly Rule[];
/** The scrapes of two intakes and a query service after an observation was stored. */
let scraped: readonly Sample[];
let scrapedAtStart: readonly Sample[];

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
  scrapedAtStart = [...(await scrape(intake, "intake-1")), ...(await scrape(query, "query"))];
  const observation = { observed_at: new Date().toISOString(), sensor_id: "s", source_ip: "45.0.0.1" };
  await fetch(`${intake.url}/v1/observations`, { method: "POST", body: JSON.stringify(observation) });
  // The scenarios count more of these answers.
  await eventually(async () => expect((await fetch(`${query.url}/v3/community/45.0.0.1`)).status).toBe(200));
  await eventually(async () => {
    await Promise.all([intake, query].map(({ url }) => fetch(`${url}/readyz`)));
    const first = await scrape(intake, "intake-1");
    const names = new Set(first.map(({ name }) => name));
    expect(names).toContain("noisefloor_last_insert_timestamp_seconds");
    expect(names).toContain("noisefloor_kafka_consumer_lag");
    const notReady = [...first, ...(await scrape(query, "query"))].filter(
      ({ name, value }) => name === "noisefloor_ready" && value !== 1,
    );
    expect(notReady).toEqual([]);
    const isThere = new Set([...first, ...(await scrape(query, "query"))].map(({ name }) => name));
    const well = wellAtFirst(Date.now() / 1_000).filter(({ name }) => !isThere.has(name));
    const second = first.map((sample) => ({ ...sample, labels: { ...sample.labels, instance: "intake-2" } }));
    scraped = [...first, ...second, ...(await scrape(query, "query")), ...well].map(onLargeDisk).filter(isUsedByRules);
  });
});
afterAll(async () => {
  for (const service of running.reverse()) await service.stop();
  await store.close();
  await world.close();
  await rm(dataDir, { recursive: true, force: true });
});

/** No rule reads most of the metrics, and each would take its time in every scenario. */
const isUsedByRules = ({ name }: Sample) => rules.some(({ expr }) => expr.includes(name));

/** The alerts about the disk must not depend on the disk of this machine. */
const onLargeDisk = (sample: Sample): Sample =>
  sample.name === "noisefloor_store_disk_free_bytes" ? { ...sample, value: TERABYTE } : sample;
const TERABYTE = 1e12;

/** The alerts that a scenario of an hour ends with, one scrape a minute. */
function firing(scenario: Scenario): string[] {
  const start = Date.now() / 1_000;
  const rounds: Round[] = Array.from({ length: 61 }, (_, minute) => {
    const at = start + minute * 60;
    return { at, samples: scenario(minute, at, scraped).reduce<readonly Sample[]>(applyChange, scraped) };
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

describe.concurrent("alerts", () => {
  test.each(ALERT_SCENARIOS)("when %s, exactly the right ones fire", (_name, scenario, alerts) => {
    expect(firing(scenario).sort()).toEqual([...alerts].sort());
  });

  test("every alert fires in one of these cases", () => {
    const seen = new Set(ALERT_SCENARIOS.flatMap(([, , alerts]) => alerts));
    expect(rules.map(({ alert }) => alert).filter((alert) => !seen.has(alert))).toEqual([]);
  });

  test("a service has every metric that the alerts use, also those without a value yet", async () => {
    const texts = await Promise.all(running.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
    const text = texts.join("\n");
    const used = new Set(rules.flatMap(({ expr }) => expr.match(/noisefloor_\w+/g) ?? []));
    // Of settings of their own.
    for (const name of ["noisefloor_benign_updates_total", "noisefloor_followed_lag_bytes"]) used.delete(name);
    for (const name of used) expect(text, name).toContain(`# HELP ${name.replace(/_(?:count|bucket)$/, "")} `);
  });

  test("the counters of an intake start at 0; the time of its last insert is absent until there was one", () => {
    const names = new Set(scrapedAtStart.map(({ name }) => name));
    expect(names).not.toContain("noisefloor_last_insert_timestamp_seconds");
    const counts = scrapedAtStart.filter(({ name }) =>
      /^noisefloor_(?:ingest_records_total|insert_.*_count)$/.test(name),
    );
    expect(counts.every(({ value }) => value === 0)).toBe(true);
    const of = (name: string) => counts.filter((sample) => sample.name === name && sample.labels.instance !== "query");
    expect(of("noisefloor_ingest_records_total")).toHaveLength(2 * (2 + REJECTION_REASONS.length));
    expect(of("noisefloor_insert_duration_seconds_count")).toHaveLength(4);
  });

  testInFull("a lag that could not be read at first is reported once the brokers can be reached", async () => {
    const [host = "", port = ""] = ((await onDemand("kafka")).split(",")[0] ?? "").split(":");
    const relay = await startRelay(host, Number(port));
    await relay.stop();
    let failures = 0;
    const log = silent.child({}, { level: "silent" });
    log.debug = () => void failures++;
    const connection = { ...kafka.connection, brokers: [`127.0.0.1:${relay.port}`] };
    const lags = pollConsumerLag(connection, kafka, log, () => {}, 100);
    await eventually(async () => expect(failures).toBeGreaterThan(0));
    await relay.pass();
    await eventually(async () => expect([...lags.current()]).not.toEqual([]));
    await lags.stop();
    await relay.stop();
  });
});
