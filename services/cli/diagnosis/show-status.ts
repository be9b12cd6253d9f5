import { nameOf } from "@noisefloor/clickhouse/sensors/sensor-summaries.ts";
import { formatBytes } from "@noisefloor/domain/text/bytes.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { formatReasons, sensorToJson } from "../sensors/list.ts";
import { lastInsertOf } from "./checks/check-services.ts";
import { feedLines, feedsOf, feedToJson } from "./feed-status.ts";
import { bytesPerDay, daysUntilFull, formatAge, formatFull, formatSkew } from "./measures.ts";
import { type Facts, samplesOf } from "./probes/gather.ts";
import { knownOf, type Probe } from "./probes/probe.ts";
import type { StoreFacts } from "./probes/probe-store.ts";

const timeOf = (time: number | undefined) => (time === undefined ? null : formatTimestamp(time));
const errorOf = (result: Probe<unknown> | undefined) =>
  result !== undefined && "error" in result ? result.error : null;
const total = (counts: StoreFacts["deadLetters"]) =>
  (knownOf(counts) ?? []).reduce((sum, { records }) => sum + records, 0);

/** What is known, as JSON: what is not is null. */
export function statusToJson(facts: Facts) {
  const { dataDirectory, store, services, kafka, certificate, settings } = facts;
  const { facts: asked } = store;
  return {
    time: formatTimestamp(facts.now),
    version: facts.version,
    data_directory: {
      path: dataDirectory.path,
      exists: dataDirectory.exists,
      holds_store: dataDirectory.holdsStore,
      free_bytes: knownOf(dataDirectory.disk)?.freeBytes ?? null,
    },
    services: services.map(({ url, note, health, failing }) => ({
      url,
      pid: note?.pid ?? null,
      roles: note?.roles ?? [],
      version: knownOf(health)?.version ?? note?.version ?? null,
      started: timeOf(note?.startedAt),
      answers: "value" in health,
      failing_checks: knownOf(failing) ?? null,
      error: errorOf(health),
    })),
    clickhouse: { url: store.url ?? null, embedded: store.isEmbedded, error: errorOf(asked), ...storeToJson(asked) },
    kafka:
      kafka === undefined
        ? null
        : {
            brokers: settings.kafka?.connection.brokers ?? [],
            error: errorOf(kafka),
            clock_skew_seconds: secondsOf(knownOf(kafka)?.skewMs),
            groups: (knownOf(kafka)?.groups ?? []).map(({ topic, groupId, lag }) => ({
              topic,
              group: groupId,
              lag: "messages" in lag ? lag.messages : null,
            })),
          },
    last_insert: timeOf(lastInsertOf(facts)),
    followed: samplesOf(facts, "noisefloor_followed_lag_bytes").map(({ labels, value }) => ({
      ...{ path: labels.path, state: labels.state, lag_bytes: value },
    })),
    caches: samplesOf(facts, "noisefloor_cache_age_seconds").map(({ labels, value, url }) => ({
      ...{ url, cache: labels.cache, age_seconds: value },
    })),
    feeds: feedsOf(facts).map(feedToJson),
    certificate_expires: certificate === undefined ? null : timeOf(knownOf(certificate)),
    ...countsToJson(asked),
  };
}

function storeToJson(asked: Probe<StoreFacts>) {
  if ("error" in asked) return {};
  const { clock, schema, disk, size, retentionDays } = asked.value;
  return {
    version: clock.version,
    uptime_seconds: clock.uptimeSeconds,
    clock_skew_seconds: clock.skewMs / 1_000,
    migration: knownOf(schema) ?? null,
    schema_error: errorOf(schema),
    retention_days: knownOf(retentionDays) ?? null,
    bytes: knownOf(size)?.bytes ?? null,
    observations: knownOf(size)?.observations ?? null,
    bytes_per_day: bytesPerDay(asked.value) ?? null,
    free_bytes: knownOf(disk)?.freeBytes ?? null,
    total_bytes: knownOf(disk)?.totalBytes ?? null,
    floor_bytes: knownOf(disk)?.floorBytes ?? null,
    days_until_full: daysUntilFull(asked.value) ?? null,
  };
}

function countsToJson(asked: Probe<StoreFacts>) {
  const facts = knownOf(asked);
  const backup = knownOf(facts?.lastBackup);
  const deadLetters = knownOf(facts?.deadLetters);
  return {
    dead_letters_today:
      deadLetters === undefined
        ? null
        : Object.fromEntries(deadLetters.map(({ reason, records }) => [reason, records])),
    last_backup:
      backup === undefined ? null : { made: timeOf(backup.madeAt), place: backup.place, bytes: backup.bytes },
    sensors: knownOf(facts?.sensors)?.map(sensorToJson) ?? null,
  };
}

/** The same for people, a line for each thing. */
export function statusLines(facts: Facts): (readonly [name: string, text: string])[] {
  const { dataDirectory, store, services, kafka, certificate, now } = facts;
  const lastInsert = lastInsertOf(facts);
  const caches = samplesOf(facts, "noisefloor_cache_age_seconds");
  const skewMs = knownOf(kafka)?.skewMs;
  return [
    ["noisefloor", facts.version],
    ...(store.isEmbedded ? [["data", describeDirectory(dataDirectory)] as const] : []),
    ...services.map((service) => ["service", describeService(service, now)] as const),
    ...(services.length === 0 ? [["service", "none is running"] as const] : []),
    ...storeLines(facts),
    ...("error" in (kafka ?? {}) ? [["Kafka", `away: ${errorOf(kafka)}`] as const] : []),
    ...(skewMs === undefined ? [] : [["clock", `Kafka's is ${formatSkew(skewMs)}`] as const]),
    ...(knownOf(kafka)?.groups ?? []).map(({ topic, groupId, lag }) => {
      const text = "messages" in lag ? `${lag.messages} messages wait` : formatError(lag.error);
      return ["Kafka", `${topic}, group ${groupId}: ${text}`] as const;
    }),
    ["last insert", lastInsert === undefined ? "unknown" : formatMoment(lastInsert, now)],
    ...(caches.length === 0
      ? []
      : [["caches", caches.map(({ labels, value }) => `${labels.cache} ${value.toFixed(0)} s`).join(", ")] as const]),
    ...followedLines(facts),
    ...(certificate === undefined ? [] : [["certificate", describeCertificate(certificate, now)] as const]),
    ...feedLines(facts),
    ...countLines(facts),
  ];
}

/** Files that are followed, by state, and those that lag most. */
function followedLines(facts: Facts): (readonly [string, string])[] {
  const counts = samplesOf(facts, "noisefloor_followed_files").filter(({ value }) => value > 0);
  if (counts.length === 0) return [];
  const lags = samplesOf(facts, "noisefloor_followed_lag_bytes");
  const total = lags.reduce((sum, { value }) => sum + value, 0);
  const states = counts.map(({ labels, value }) => `${value} ${labels.state}`).join(", ");
  return [
    ["files", `${states}; ${total === 0 ? "all is stored" : `${formatBytes(total)} are not stored yet`}`],
    ...lags.slice(0, SHOWN_FILES).map(({ labels, value }) => {
      return [`  ${labels.path}`, `${labels.state}, ${formatBytes(value)} not stored yet`] as const;
    }),
  ];
}
const SHOWN_FILES = 10;

const secondsOf = (ms: number | undefined) => (ms === undefined ? null : ms / 1_000);
const formatError = (error: unknown) => (error instanceof Error ? error.message : String(error));
const formatMoment = (time: number, now: number) => `${formatTimestamp(time)} (${formatAge(now - time)} ago)`;

function describeDirectory({ path, exists, holdsStore, disk }: Facts["dataDirectory"]): string {
  const state = !exists ? " (does not exist)" : holdsStore ? "" : " (holds no store)";
  const free = knownOf(disk)?.freeBytes;
  return `${path}${state}${free === undefined ? "" : `, ${formatBytes(free)} free`}`;
}

function describeService({ url, note, isAlive, health, failing }: Facts["services"][number], now: number): string {
  const who = note === undefined ? url : `${note.roles.join(" and ")} at ${url}, pid ${note.pid}`;
  if ("error" in health) return `${who}: ${isAlive === false ? "killed or crashed" : health.error}`;
  const checks = knownOf(failing);
  const state = checks === undefined ? "readiness unknown" : checks.length === 0 ? "ready" : `NOT READY: ${checks}`;
  const since = note === undefined ? "" : `, up for ${formatAge(now - note.startedAt)}`;
  return `${who}, version ${health.value.version ?? "unknown"}: ${state}${since}`;
}

function storeLines({ store }: Facts): (readonly [string, string])[] {
  const { facts, url } = store;
  if ("error" in facts) return [["ClickHouse", url === undefined ? facts.error : `${url}: ${facts.error}`]];
  const { clock, schema, disk, retentionDays } = facts.value;
  const size = knownOf(facts.value.size);
  const retention = knownOf(retentionDays);
  const perDay = bytesPerDay(facts.value);
  const rate = perDay === undefined ? "" : `, ${formatBytes(perDay)} a day`;
  return [
    ["ClickHouse", `${clock.version} at ${url}, up for ${formatAge(clock.uptimeSeconds * 1_000)}`],
    ["clock", `ClickHouse's is ${formatSkew(clock.skewMs)}`],
    ["schema", "value" in schema ? `current (migration ${schema.value})` : schema.error],
    ...(size === undefined
      ? []
      : [
          [
            "store",
            `${size.observations} observations, ${formatBytes(size.bytes)}${rate}, kept ${retention ?? "?"} days`,
          ] as const,
        ]),
    ["disk", "error" in disk ? disk.error : describeDisk(disk.value, daysUntilFull(facts.value))],
  ];
}

function describeDisk(
  { freeBytes, totalBytes, floorBytes }: { freeBytes: number; totalBytes: number; floorBytes: number },
  days: number | undefined,
): string {
  const text = `${formatBytes(freeBytes)} of ${formatBytes(totalBytes)} free`;
  return freeBytes < floorBytes
    ? `FULL: ${text}, below ${formatBytes(floorBytes)} (MIN_FREE_DISK_MIB) nothing is stored`
    : `${text}${formatFull(days)}`;
}

function describeCertificate(certificate: Probe<number>, now: number): string {
  if ("error" in certificate) return certificate.error;
  const leftMs = certificate.value - now;
  return leftMs > 0
    ? `expires in ${formatAge(leftMs)} (${formatTimestamp(certificate.value)})`
    : `EXPIRED on ${formatTimestamp(certificate.value)}`;
}

const SHOWN_SENSORS = 20;

function countLines({ store, now }: Facts): (readonly [string, string])[] {
  const facts = knownOf(store.facts);
  if (facts === undefined) return [];
  const deadLetters = knownOf(facts.deadLetters);
  const backup = knownOf(facts.lastBackup);
  const sensors = knownOf(facts.sensors);
  const reasons = deadLetters?.map(({ reason, records }) => `${reason} ${records}`).join(", ");
  const shown = [...(sensors ?? [])].sort((one, other) => Number(other.isSilent) - Number(one.isSilent));
  return [
    [
      "dead letters",
      deadLetters === undefined ? "unknown" : `${total(facts.deadLetters)} today${reasons ? `: ${reasons}` : ""}`,
    ],
    [
      "last backup",
      backup === undefined
        ? (errorOf(facts.lastBackup) ?? "none")
        : `${formatMoment(backup.madeAt, now)} at ${backup.place}`,
    ],
    ["sensors", sensors === undefined ? "unknown" : `${sensors.length} in 7 days`],
    ...shown.slice(0, SHOWN_SENSORS).map((sensor) => {
      const state = sensor.isSilent ? "SILENT, " : "";
      const { today } = sensor;
      const counts = `today ${today.accepted} accepted, ${formatReasons(today)} rejected`;
      return [
        `  ${nameOf(sensor)}`,
        `${sensor.source}, ${state}last ${formatAge(now - sensor.lastSeen)} ago, ${counts}`,
      ] as const;
    }),
    ...(shown.length > SHOWN_SENSORS
      ? [["", `and ${shown.length - SHOWN_SENSORS} more: noisefloor sensors list`] as const]
      : []),
  ];
}
