import { expect } from "vitest";
import { keyOf, type Sample } from "./promql.ts";

/** Another value than the scraped one, in every series with these labels; undefined removes them. */
export type Change = {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Adds a series of the same process and name instead, with these labels. */
  readonly as?: Readonly<Record<string, string>>;
  readonly value: number | undefined;
};
/** What changes in the scrape of a minute. @param scraped the series without any change. */
export type Scenario = (minute: number, at: number, scraped: readonly Sample[]) => readonly Change[];

/** @returns the samples with a change made. Throws when no series has the name and labels. */
export function applyChange(samples: readonly Sample[], { name, labels = {}, as = {}, value }: Change): Sample[] {
  const isMeant = (sample: Sample) =>
    sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value);
  const meant = samples.filter(isMeant);
  expect(meant.length, `no series is ${name} ${JSON.stringify(labels)}`).toBeGreaterThan(0);
  const changed = meant.flatMap((sample) =>
    value === undefined ? [] : [{ ...sample, labels: { ...sample.labels, ...as }, value }],
  );
  if (Object.keys(as).length === 0) return [...samples.filter((sample) => !isMeant(sample)), ...changed];
  // A series that is there already must not stay beside the one that stands for it.
  const added = new Map(changed.map((sample) => [keyOf(sample.labels), sample]));
  return [...samples.filter((sample) => sample.name !== name || !added.has(keyOf(sample.labels))), ...added.values()];
}

const [FIRST, SECOND, QUERY] = ["intake-1", "intake-2", "query"].map((instance) => ({ instance }));
const lag = (partition: number, value: number) => ({
  name: "noisefloor_kafka_consumer_lag",
  labels: { partition: String(partition) },
  value,
});
const inserts = (outcome: string, value: number, of = {}) => ({
  name: "noisefloor_insert_duration_seconds_count",
  labels: { outcome, ...of },
  value,
});
const lastInsert = (value: number | undefined, of = {}) => ({
  name: "noisefloor_last_insert_timestamp_seconds",
  labels: { ...of },
  value,
});
const records = (outcome: string, value: number) => ({
  name: "noisefloor_ingest_records_total",
  labels: { source: "kafka", outcome },
  value,
});
const freeBytes = (value: number) => ({ name: "noisefloor_store_disk_free_bytes", value });
const minFreeBytes = (value: number) => ({ name: "noisefloor_store_disk_floor_bytes", value });
const answers = (operation: string, status: string, value: number) => ({
  name: "noisefloor_http_requests_total",
  labels: { operation },
  as: { status },
  value,
});
const all = (scenario: Scenario): Scenario => {
  return (minute, at, scraped) => [...busy(minute, at, scraped), ...scenario(minute, at, scraped)];
};
/** Many messages come, all are stored, and a few are always waiting. */
const busy: Scenario = (minute, at) => [
  records("accepted", minute * 6_000),
  inserts("stored", minute * 60),
  lastInsert(at - 1),
  lag(0, 40 + (minute % 3)),
  answers("getCommunityIP", "200", minute * 600),
];
const gone = (of: { instance: string } | undefined, scraped: readonly Sample[]): Change[] => {
  const names = new Set(scraped.filter(({ labels }) => labels.instance === of?.instance).map(({ name }) => name));
  names.delete("up");
  return [
    ...[...names].map((name) => ({ name, labels: { ...of }, value: undefined })),
    { name: "up", labels: { ...of }, value: 0 },
  ];
};
const tooSlow = ["10", "30", "60", "120", "300", "600", "+Inf"];

const sensor = (name: string, value: number) => all(() => [{ name, labels: { instance: "intake-1" }, value }]);

/** Series that a scrape lacks until there is a sensor, a certificate or a backup, as they are when all is well. */
export function wellAtFirst(at: number): readonly Sample[] {
  const of = { job: "noisefloor", instance: "intake-1" };
  const sensor = { ...of, sensor: "tap", source: "http", key: "" };
  const feed = { job: "noisefloor", ...QUERY, workspace: "acme", feed: "edge" };
  return [
    { name: "noisefloor_sensor_silent", labels: sensor, value: 0 },
    { name: "noisefloor_sensor_rejected_ratio", labels: sensor, value: 0.01 },
    { name: "noisefloor_followed_lag_bytes", labels: { ...of, path: "/log", state: "following" }, value: 100 },
    { name: "noisefloor_tls_certificate_expiry_timestamp_seconds", labels: of, value: at + 60 * 86_400 },
    { name: "noisefloor_backup_timestamp_seconds", labels: of, value: at - 80_000 },
    { name: "noisefloor_clock_skew_seconds", labels: of, value: -0.2 },
    { name: "noisefloor_feed_age_seconds", labels: feed, value: 40 },
    { name: "noisefloor_feed_fell_from", labels: feed, value: 0 },
    { name: "noisefloor_watches_age_seconds", labels: { job: "noisefloor", ...QUERY }, value: 2 },
    { name: "noisefloor_watches_undelivered", labels: { job: "noisefloor", ...QUERY }, value: 0 },
    { name: "noisefloor_feed_silent_tokens", labels: feed, value: 0 },
    { name: "noisefloor_benign_updates_total", labels: { ...of, outcome: "failed" }, value: 0 },
  ];
}

/** Each with the alerts that it must end with. */
export const ALERT_SCENARIOS: readonly (readonly [name: string, scenario: Scenario, alerts: readonly string[]])[] = [
  ["all is well and many messages come", busy, []],
  ["no messages come", () => [lag(0, 0), lag(1, 0)], []],
  [
    "every insert has failed for a while",
    (minute, at) => [inserts("transient", minute * 10), lastInsert(at - minute * 60), lag(0, minute * 10)],
    ["NoisefloorInsertsFail", "NoisefloorIntakeStalled"],
  ],
  [
    "every insert has failed since the start of the intakes",
    (minute) => [inserts("transient", minute * 10), lastInsert(undefined), lag(0, minute * 10)],
    ["NoisefloorInsertsFail", "NoisefloorIntakeStalled"],
  ],
  [
    "the inserts of one of two intakes fail",
    all((minute) => [inserts("transient", minute * 10, FIRST), inserts("stored", 0, FIRST)]),
    [],
  ],
  ["one intake has not inserted anything for an hour", all((minute, at) => [lastInsert(at - minute * 60, FIRST)]), []],
  [
    "60,000 messages wait, ever more of them, as both intakes report",
    all((minute) => [lag(0, 30_000 + minute), lag(1, 30_000)]),
    [],
  ],
  [
    "120,000 messages wait, ever more of them",
    all((minute) => [lag(0, 60_000 + minute), lag(1, 60_000)]),
    ["NoisefloorLagGrows"],
  ],
  ["120,000 messages wait, ever less of them", all((minute) => [lag(0, 60_000 - minute), lag(1, 60_000)]), []],
  ["one of two intakes is down", all((_minute, _at, scraped) => gone(FIRST, scraped)), ["NoisefloorDown"]],
  [
    "both intakes are down",
    (_minute, _at, scraped) => [...gone(FIRST, scraped), ...gone(SECOND, scraped)],
    ["NoisefloorDown", "NoisefloorNoIntake"],
  ],
  [
    "the query service is down",
    (_minute, _at, scraped) => gone(QUERY, scraped),
    ["NoisefloorDown", "NoisefloorNoQuery"],
  ],
  [
    "the consumer of an intake does not run",
    all(() => [{ name: "noisefloor_ready", labels: { check: "kafka", ...FIRST }, value: 0 }]),
    ["NoisefloorNotReady"],
  ],
  [
    "two records in a hundred are rejected",
    all((minute) => [records("unknown-tag", minute * 120)]),
    ["NoisefloorRejectsRecords"],
  ],
  [
    "less than five times the minimum of disk space is free",
    all(() => [freeBytes(4), minFreeBytes(1)]),
    ["NoisefloorDiskNearlyFull"],
  ],
  [
    "less than the minimum of disk space is free",
    all(() => [freeBytes(1), minFreeBytes(2)]),
    ["NoisefloorDiskNearlyFull", "NoisefloorDiskFull"],
  ],
  ["no disk space is to be kept free", all(() => [freeBytes(1), minFreeBytes(0)]), []],
  [
    "dead letters take a megabyte a minute",
    all((minute) => [{ name: "noisefloor_dead_letter_bytes_total", labels: { ...FIRST }, value: minute * 1e6 }]),
    ["NoisefloorDeadLettersGrow"],
  ],
  [
    "a sender has used up its quota of dead letters",
    all((minute) => [{ name: "noisefloor_dead_letters_not_kept_total", labels: { ...FIRST }, value: minute * 10 }]),
    ["NoisefloorDeadLettersNotKept"],
  ],
  [
    "a followed file may not be read",
    all(() => [{ name: "noisefloor_followed_lag_bytes", as: { state: "unreadable" }, value: 100 }]),
    ["NoisefloorFollowedFileUnread"],
  ],
  [
    "a followed file grows faster than it is stored",
    all((minute) => [{ name: "noisefloor_followed_lag_bytes", value: 3e8 + minute * 1e6 }]),
    ["NoisefloorFollowedFileLags"],
  ],
  ["a sensor has fallen silent", sensor("noisefloor_sensor_silent", 1), ["NoisefloorSensorSilent"]],
  [
    "two of a sensor's three records are rejected",
    sensor("noisefloor_sensor_rejected_ratio", 0.66),
    ["NoisefloorSensorRejected"],
  ],
  [
    "the certificate expires in ten days",
    all((_minute, at) => [{ name: "noisefloor_tls_certificate_expiry_timestamp_seconds", value: at + 10 * 86_400 }]),
    ["NoisefloorCertificateExpires"],
  ],
  [
    "the certificate has expired",
    all((_minute, at) => [{ name: "noisefloor_tls_certificate_expiry_timestamp_seconds", value: at - 60 }]),
    ["NoisefloorCertificateExpires"],
  ],
  [
    "the last backup is three days old",
    all((_minute, at) => [{ name: "noisefloor_backup_timestamp_seconds", value: at - 3 * 86_400 }]),
    ["NoisefloorBackupOld"],
  ],
  [
    "a ClickHouse replica is away",
    all(() => [{ name: "noisefloor_store_replicas", labels: { state: "away" }, value: 1 }]),
    ["NoisefloorReplicaNotComplete"],
  ],
  [
    "the clock of ClickHouse is ten minutes behind",
    all(() => [{ name: "noisefloor_clock_skew_seconds", value: -600 }]),
    ["NoisefloorClockSkew"],
  ],
  [
    "every update of the benign lists fails",
    all((minute) => [{ name: "noisefloor_benign_updates_total", value: Math.floor(minute / 20) }]),
    ["NoisefloorBenignUpdatesFail"],
  ],
  ["one record in a thousand is rejected", all((minute) => [records("unknown-tag", minute * 6)]), []],
  [
    "two answers in a hundred are errors",
    all((minute) => [answers("getCommunityIP", "503", minute * 12)]),
    ["NoisefloorServerErrors"],
  ],
  ["only readiness checks get errors", (minute) => [answers("readiness", "503", minute * 12)], []],
  [
    "answers take more than five seconds",
    (minute) =>
      tooSlow.map((le) => ({
        name: "noisefloor_http_request_duration_seconds_bucket",
        labels: { operation: "getCommunityIP", le },
        value: 1 + minute,
      })),
    ["NoisefloorSlow"],
  ],
  [
    "a feed is not refreshed",
    all((minute) => [{ name: "noisefloor_feed_age_seconds", value: 60 * minute }]),
    ["NoisefloorFeedOld"],
  ],
  [
    "nobody looks after the watches",
    all((minute) => [{ name: "noisefloor_watches_age_seconds", value: 60 * minute }]),
    ["NoisefloorWatchesUnattended"],
  ],
  [
    "a receiver takes no events",
    all(() => [{ name: "noisefloor_watches_undelivered", value: 3 }]),
    ["NoisefloorEventsUndelivered"],
  ],
  [
    "a feed lost half of its addresses at once",
    all(() => [{ name: "noisefloor_feed_fell_from", value: 1_000 }]),
    ["NoisefloorFeedFell"],
  ],
  [
    "a consumer of a feed reads it no longer",
    all(() => [{ name: "noisefloor_feed_silent_tokens", value: 1 }]),
    ["NoisefloorFeedSilent"],
  ],
  ["Redis is down", all(() => [{ name: "noisefloor_lookup_counter_up", value: 0 }]), ["NoisefloorLookupCounterDown"]],
  [
    "the cached keys are an hour old",
    all((minute) => [{ name: "noisefloor_cache_age_seconds", labels: { cache: "keys" }, value: minute * 60 }]),
    ["NoisefloorStaleKeys"],
  ],
];
