import type { SensorCounts } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import { summarize } from "@noisefloor/clickhouse/sensors/sensor-summaries.ts";
import type { ReplicaReport } from "@noisefloor/clickhouse-cluster/client/report.ts";
import { readSettings } from "@noisefloor/config/settings.ts";
import type { GroupState } from "@noisefloor/kafka/group-state.ts";
import { KafkaError } from "@noisefloor/kafka/port/errors.ts";
import { expect, test } from "vitest";
import type { Facts } from "../probes/gather.ts";
import type { Probe } from "../probes/probe.ts";
import type { StoreFacts } from "../probes/probe-store.ts";
import { statusLines, statusToJson } from "../show-status.ts";
import { diagnose } from "./checks.ts";
import { worstOf } from "./finding.ts";

const NOW = Date.parse("2026-11-20T03:00:00Z");
const HOUR = 3_600_000;
const GIB = 1024 ** 3;

const activity = (members: Partial<SensorCounts> = {}): SensorCounts => ({
  ...{ source: "http", keyId: "k1", sensorId: "cellar", isRest: false, lastSeen: NOW - 60_000, formats: ["cowrie"] },
  ...{ today: { accepted: 100 }, week: { accepted: 700 }, recent: { accepted: 40 }, acceptedDay: 100 },
  ...{ activeHours: 168, longestPause: 1, ...members },
});

const STORE: StoreFacts = {
  clock: { skewMs: 3, version: "26.7", uptimeSeconds: 60 },
  schema: { value: 21 },
  disk: { value: { freeBytes: 100 * GIB, totalBytes: 200 * GIB, floorBytes: 4 * GIB } },
  size: { value: { bytes: GIB, observations: 1_000_000 } },
  perDay: { value: 10_000 },
  retentionDays: { value: 100 },
  newestReceipt: { value: NOW - 60_000 },
  lastBackup: { value: { madeAt: NOW - 10 * HOUR, place: "/backups/one", bytes: GIB } },
  deadLetters: { value: [] },
  sensors: { value: summarize([activity()], [], NOW) },
  loudestSources: { value: [] },
  isStale: { value: false },
  replicas: { value: [] },
};

const replicas = (...states: ReplicaReport["state"][]): Pick<StoreFacts, "replicas"> => ({
  replicas: { value: states.map((state, index) => ({ shard: 1, host: `db-${index + 1}`, state })) },
});

const SERVICE: Facts["services"][number] = {
  url: "http://localhost:8080",
  note: { pid: 7, roles: ["ingest", "query"], url: "http://localhost:8080", version: "1.0.0", startedAt: NOW - HOUR },
  isAlive: true,
  health: { value: { version: "1.0.0" } },
  failing: { value: [] },
  metrics: { value: [{ name: "noisefloor_cache_age_seconds", labels: { cache: "keys" }, value: 1 }] },
};

const EMBEDDED = { url: "http://127.0.0.1:5", isEmbedded: true, owner: { pid: 7, purpose: "service", isAlive: true } };

function facts(members: Partial<Facts> = {}, store: Partial<StoreFacts> = {}): Facts {
  return {
    now: NOW,
    version: "1.0.0",
    settings: readSettings({}),
    load: 0.5,
    dataDirectory: {
      ...{ path: "/data", exists: true, isWritable: true, holdsStore: true },
      disk: { value: { freeBytes: 100 * GIB, totalBytes: 200 * GIB } },
    },
    store: { ...EMBEDDED, facts: { value: { ...STORE, ...store } } },
    services: [SERVICE],
    isPortTaken: true,
    kafka: undefined,
    certificate: undefined,
    ...members,
  };
}

const failed = (error: string): Probe<never> => ({ error });
const away = (error: string, store: Partial<Facts["store"]> = {}) =>
  facts({ store: { ...EMBEDDED, ...store, facts: failed(error) } });

/** What is not well, as `severity check: text`. */
const faults = (given: Facts) =>
  diagnose(given)
    .filter(({ severity }) => severity !== "ok")
    .map(({ severity, check, text }) => `${severity} ${check}: ${text}`);

test("nothing is wrong when all is well", () => {
  expect(faults(facts())).toEqual([]);
  expect(worstOf(diagnose(facts()))).toBe("ok");
});

const group = { topic: "scans", groupId: "g" };
const withKafka = (kafka: Facts["kafka"]) =>
  facts({ settings: readSettings({ KAFKA_BROKERS: "127.0.0.1:9092" }), kafka });
const withGroups = (...groups: GroupState[]) => withKafka({ value: { groups, skewMs: undefined } });

const withFollowed = (state: string, lag: number) =>
  facts({
    services: [
      {
        ...SERVICE,
        metrics: {
          value: [
            { name: "noisefloor_followed_files", labels: { state }, value: 1 },
            { name: "noisefloor_followed_lag_bytes", labels: { path: "/var/log/a", state }, value: lag },
          ],
        },
      },
    ],
  });
const withFeed = (name: string, value: number) =>
  facts({
    services: [{ ...SERVICE, metrics: { value: [{ name, labels: { workspace: "acme", feed: "edge" }, value }] } }],
  });

test.each<[string, Facts, RegExp]>([
  [
    "the disk is full",
    facts({}, { disk: { value: { freeBytes: 1, totalBytes: GIB, floorBytes: 9 } } }),
    /^failure disk: full/,
  ],
  [
    "the disk is full in a week",
    facts({}, { perDay: { value: 13_000_000 } }),
    /^warning disk: .* full in about 7 days/,
  ],
  [
    "the disk is full and ClickHouse away",
    facts({
      dataDirectory: { ...facts().dataDirectory, disk: { value: { freeBytes: 0, totalBytes: GIB } } },
      store: { ...EMBEDDED, facts: failed("connect ECONNREFUSED") },
    }),
    /failure disk: full: 0 B of 1\.0 GiB/,
  ],
  [
    "ClickHouse was killed",
    away("connect ECONNREFUSED"),
    /^failure ClickHouse: the embedded server of pid 7 does not answer/,
  ],
  ["the machine is overloaded", { ...away("no answer within 1 s"), load: 20 }, /^warning load: .*\nunknown ClickHouse/],
  [
    "the service was killed",
    facts({ services: [{ ...SERVICE, isAlive: false, health: failed("refused") }], isPortTaken: false }),
    /^failure ingest and query: pid 7 .* ended without a shutdown/,
  ],
  [
    "its port is another program's",
    facts({ services: [{ ...SERVICE, isAlive: false, health: failed("no") }] }),
    /another program listens on port 8080/,
  ],
  ["no service runs", facts({ services: [], isPortTaken: false }), /^failure service: none is running/],
  [
    "a service is of an earlier version",
    { ...facts(), version: "1.1.0" },
    /^warning version: pid 7 .* runs version 1\.0\.0, this is 1\.1\.0/,
  ],
  [
    "the password is wrong",
    away("check CLICKHOUSE_USER and CLICKHOUSE_PASSWORD", { isEmbedded: false, owner: undefined }),
    /^failure ClickHouse/,
  ],
  [
    "the data directory is another one",
    facts({ dataDirectory: { ...facts().dataDirectory, holdsStore: false } }),
    /^failure data directory: \/data holds no store, yet a service answers on port 8080/,
  ],
  [
    "a newer version wrote the store",
    facts({}, { schema: failed("the database was written by a newer Noisefloor") }),
    /^failure schema: the database was written by a newer/,
  ],
  [
    "the clock is ten minutes off",
    facts({}, { clock: { ...STORE.clock, skewMs: -600_000 } }),
    /^failure clock: ClickHouse's is 10 minutes behind this machine's/,
  ],
  [
    "the brokers' clock is a minute off",
    withKafka({ value: { groups: [], skewMs: 60_000 } }),
    /^(?:warning|failure) clock: Kafka's is 1 minutes? ahead of this machine's/,
  ],
  [
    "the certificate expires",
    facts({ certificate: { value: NOW + 5 * 24 * HOUR } }),
    /^warning certificate: expires in 5 days/,
  ],
  [
    "the certificate has expired",
    facts({ certificate: { value: NOW - HOUR } }),
    /^failure certificate: expired on 2026-11-20T02/,
  ],
  ["there is no backup", facts({}, { lastBackup: { value: undefined } }), /^warning backup: none was ever made/],
  [
    "keys are not refreshed",
    facts({
      services: [
        {
          ...SERVICE,
          metrics: { value: [{ name: "noisefloor_cache_age_seconds", labels: { cache: "keys" }, value: 600 }] },
        },
      ],
    }),
    /^failure caches: not refreshed: keys \(10 minutes\)/,
  ],
  [
    "a feed's guard holds back an address that attacked",
    facts({
      services: [
        { ...SERVICE, metrics: { value: [{ name: "noisefloor_feed_attackers_held_back", labels: {}, value: 1 }] } },
      ],
    }),
    /^warning guard: a feed's guard holds back 1 address that attacked/,
  ],
  [
    "nobody looks after the watches",
    withFeed("noisefloor_watches_age_seconds", 600),
    /^failure watches: not looked after for 10 minutes: nobody is told of anything/,
  ],
  [
    "many events wait for their receivers",
    withFeed("noisefloor_watches_undelivered", 12),
    /^warning watches: 12 deliveries of events wait for their receivers/,
  ],
  [
    "a followed file may not be read",
    withFollowed("unreadable", 100),
    /^warning followed files: unreadable: \/var\/log\/a/,
  ],
  [
    "a followed file has hundreds of megabytes that are not stored",
    withFollowed("following", 3e8),
    /^warning followed files: 1 have more than 64 MiB that are not stored yet/,
  ],
  [
    "a feed is old",
    withFeed("noisefloor_feed_age_seconds", 1_200),
    /^failure feeds: not refreshed: edge of acme \(20 minutes\)/,
  ],
  [
    "a feed's refresh fails again and again",
    withFeed("noisefloor_feed_refresh_failures", 3),
    /^warning feeds: refresh fails: edge of acme \(3 failures\)/,
  ],
  [
    "a feed lost half of its addresses at once",
    withFeed("noisefloor_feed_fell_from", 1_000),
    /^warning feeds: lost half of their addresses: edge of acme \(from 1000\)/,
  ],
  [
    "a token of a feed was in regular use, and is no more",
    withFeed("noisefloor_feed_silent_tokens", 1),
    /^warning feeds: no longer read for a day: edge of acme \(1 of its tokens\)/,
  ],
  [
    "the brokers are away",
    withKafka(failed("Kafka at 127.0.0.1:9092 cannot be used: refused")),
    /^failure Kafka: Kafka at 127/,
  ],
  [
    "the topic may not be read",
    withGroups({ ...group, lag: { error: new KafkaError("Not authorized to access topics") } }),
    /^failure Kafka: scans: Not authorized/,
  ],
  [
    "messages pile up",
    withGroups({ ...group, lag: { messages: 200_000 } }),
    /^warning Kafka: scans: 200000 messages wait for g/,
  ],
  [
    "messages can never be read",
    {
      ...withGroups({ ...group, lag: { messages: 0 } }),
      services: [
        {
          ...SERVICE,
          metrics: {
            value: [{ name: "noisefloor_kafka_unreadable_messages_total", labels: { topic: "scans" }, value: 17 }],
          },
        },
      ],
    },
    /^warning Kafka: scans: 17 messages can never be read/,
  ],
  [
    "a sensor is silent",
    facts({}, { sensors: { value: summarize([activity({ lastSeen: NOW - 5 * HOUR })], [], NOW) } }),
    /^warning sensors: silent: cellar \(http, key k1, for 5 hours\)/,
  ],
  [
    "a sensor sends rubbish",
    facts({}, { sensors: { value: summarize([activity({ recent: { accepted: 1, "not-json": 30 } })], [], NOW) } }),
    /^warning sensors: mostly rejected in the last two hours: cellar \(http, key k1, 30 of 31, not-json\)/,
  ],
  ["a replica is away", facts({}, replicas("complete", "away")), /^warning replicas: db-2 of shard 1 is away$/],
  [
    "no replica of a shard has all rows",
    facts({}, replicas("behind", "alone")),
    /^failure replicas: db-1 of shard 1 is behind\nfailure replicas: db-2 of shard 1 is alone$/,
  ],
  [
    "many dead letters came",
    facts(
      {},
      {
        deadLetters: { value: [{ reason: "not-json", records: 9, replayed: 0 }] },
        sensors: { value: summarize([activity({ today: { accepted: 1, "not-json": 9 } })], [], NOW) },
      },
    ),
    /^warning dead letters: 9 today \(UTC\): not-json 9/,
  ],
])("when %s, it is named, with what to do", (_name, given, expected) => {
  expect(faults(given).join("\n")).toMatch(expected);
  for (const { severity, remedy, check } of diagnose(given)) {
    if (severity === "failure" || severity === "warning") expect(remedy, check).toBeTruthy();
  }
  expect(statusLines(given).length).toBeGreaterThan(3);
  expect(JSON.parse(JSON.stringify(statusToJson(given)))).toMatchObject({ version: given.version });
});

test("what was not answered in time is unknown, and no failure of its own", () => {
  expect(faults(facts({}, { schema: failed("no answer within 1 s") }))).toEqual([
    "unknown schema: no answer within 1 s",
  ]);
});

test("the growth is what the stored observations take, and a disk that is full already fills in no time", () => {
  const lines = (store: Partial<StoreFacts>) => Object.fromEntries(statusLines(facts({}, store)));
  const grown = lines({ perDay: { value: 13_000_000 } });
  expect(grown.store).toContain("1000000 observations, 1.0 GiB, 13.0 GiB a day");
  expect(grown.disk).toContain("full in about 7 days at the present rate");
  const soon = lines({ perDay: { value: 500_000_000 } });
  expect(soon.disk).toContain("full in about 4 hours at the present rate");
  const disk = { value: { freeBytes: 3 * GIB, totalBytes: 200 * GIB, floorBytes: 4 * GIB } };
  const full = lines({ perDay: { value: 13_000_000 }, disk }).disk;
  expect(full).toBe("FULL: 3.0 GiB of 200.0 GiB free, below 4.0 GiB (MIN_FREE_DISK_MIB) nothing is stored");
  expect(lines({ perDay: { value: undefined } })).not.toMatchObject({ store: expect.stringContaining("a day") });
});

test("the status has each feed once, with its age, size, failures, fall and last use, as its newest service says", () => {
  const service = (url: string, age: number, addresses: number) => {
    const values = { age_seconds: age, addresses, refresh_failures: 0, fell_from: 900, silent_tokens: 1 };
    const metrics = Object.entries({ ...values, last_use_timestamp_seconds: (NOW - HOUR) / 1_000 });
    const labels = { workspace: "acme", feed: "edge" };
    return {
      ...{ ...SERVICE, url },
      metrics: { value: metrics.map(([name, value]) => ({ name: `noisefloor_feed_${name}`, labels, value })) },
    };
  };
  const given = facts({ services: [service("http://a", 400, 10), service("http://b", 40, 400)] });
  expect(Object.fromEntries(statusLines(given))).toMatchObject({
    feeds: "1",
    "  edge":
      "of acme, 400 addresses, FELL from 900, refreshed 40 seconds ago, a token used 1 hour ago, 1 no longer used",
  });
  expect(statusToJson(given).feeds).toEqual([
    {
      ...{ workspace: "acme", feed: "edge", age_seconds: 40, addresses: 400, failures: 0, fell_from: 900 },
      ...{ last_used: "2026-11-20T02:00:00Z", silent_tokens: 1 },
    },
  ]);
  expect(statusToJson(facts()).feeds).toEqual([]);
});

test("a replay blames no sensor: neither for its silence, nor for old times or what is rejected", () => {
  const replayed = { keyId: "", lastSeen: NOW - 50 * HOUR, recent: { accepted: 1, "in-the-future": 500 } };
  const today = { accepted: 1, "in-the-future": 500 };
  const sensors = (...more: SensorCounts[]) => ({ sensors: { value: summarize(more, [], NOW) } });
  const deadLetters = { value: [{ reason: "in-the-future", records: 500, replayed: 500 }] };
  const file = activity({ source: "file", ...replayed, today });
  expect(faults(facts({}, { ...sensors(file), deadLetters }))).toEqual([]);
  expect(faults(facts({}, sensors(activity({ source: "kafka", ...replayed }))))).toHaveLength(2);
});
