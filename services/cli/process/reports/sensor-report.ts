import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import {
  nameOf,
  readSensorSummaries,
  rejectedShare,
  type SensorSummary,
} from "@noisefloor/clickhouse/sensors/sensor-summaries.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";

const POLL_MS = 60_000;
/** Prometheus keeps a series for each label, and names of sensors come from senders. */
const MAX_SENSORS = 100;
/** Fewer rejected records are no reason to wake anyone. */
const MIN_RECORDS = 20;

export type SensorReport = {
  /** Reads the counts now instead of at the next poll. Never rejects. */
  refresh(): Promise<void>;
  stop(): void;
};

export type SensorReportOptions = {
  readonly metrics: Pick<Metrics, "gauge" | "gaugeOf">;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Whether metrics are given to everyone: then they name no sensor and no key of personal data. */
  readonly isPublic: boolean;
};

/** The workspaces of shared data. */
const SHARED = [""];

const LABELS = ["sensor", "source", "key"] as const;

/** Polls what the sensors sent, for metrics and alerts: who fell silent, and whose records are rejected. */
export function startSensorReport(
  client: ClickHouseClient,
  { metrics, log, now, isPublic }: SensorReportOptions,
): SensorReport {
  let sensors: readonly SensorSummary[] = [];
  let named: readonly SensorSummary[] = [];
  let silent = new Set<string>();
  const read = async () => {
    sensors = await readSensorSummaries(client, now());
    named = isPublic ? await readSensorSummaries(client, now(), SHARED) : sensors;
    const byName = new Map(sensors.map((one) => [labelsOf(one).join("\n"), one]));
    const nowSilent = new Set([...byName].filter(([, one]) => one.isSilent).map(([name]) => name));
    for (const name of nowSilent) if (!silent.has(name)) logSilence(byName.get(name), log);
    for (const name of silent) {
      const [sensor, source, key] = name.split("\n");
      if (!nowSilent.has(name)) log.info({ sensor, source, key }, "the sensor is no longer silent");
    }
    silent = nowSilent;
  };
  const shown = () => topSensors(named).filter(({ isRest }) => !isRest);
  metrics.gauge("noisefloor_sensors", "Sensors that have sent anything in the last 7 days", () => sensors.length);
  metrics.gauge(
    "noisefloor_sensors_silent",
    "Sensors that send nothing for longer than twice their longest pause of the last 7 days, and an hour at least",
    () => sensors.filter((sensor) => sensor.isSilent).length,
  );
  metrics.gaugeOf(
    "noisefloor_sensor_silent",
    `1 while a sensor is silent; of the ${MAX_SENSORS} sensors that are silent or send the most`,
    LABELS,
    () => shown().map((one) => [labelsOf(one), one.isSilent ? 1 : 0]),
  );
  metrics.gaugeOf(
    "noisefloor_sensor_last_seen_timestamp_seconds",
    "When the last record of a sensor came, whatever became of it, in seconds since 1970; of the same sensors",
    LABELS,
    () => shown().map((one) => [labelsOf(one), one.lastSeen / 1_000]),
  );
  metrics.gaugeOf(
    "noisefloor_sensor_rejected_ratio",
    `The share of a sensor's records that were rejected in the present and the last hour, from ${MIN_RECORDS} on; of the same sensors`,
    LABELS,
    () =>
      topSensors(named)
        .filter(({ isReplayed, recent }) => !isReplayed && recent.accepted + recent.rejected >= MIN_RECORDS)
        .map((one) => [labelsOf(one), rejectedShare(one.recent)]),
  );
  // Two concurrent refreshes would both log the same silence.
  const { run, stop } = repeatEvery(read, {
    everyMs: POLL_MS,
    onError: (error) => log.warn({ err: error }, "reading the counts by sensor failed, retrying"),
  });
  void run();
  return { refresh: run, stop: () => void stop() };
}

const labelsOf = (sensor: SensorSummary) => [nameOf(sensor), sensor.source, sensor.keyId] as const;

/** The silent sensors first, then those that sent the most; {@link MAX_SENSORS} at most. */
function topSensors(sensors: readonly SensorSummary[]): readonly SensorSummary[] {
  const weightOf = ({ isSilent, week }: SensorSummary) =>
    (isSilent ? Number.MAX_SAFE_INTEGER / 2 : 0) + week.accepted + week.rejected;
  return [...sensors].sort((one, other) => weightOf(other) - weightOf(one)).slice(0, MAX_SENSORS);
}

function logSilence(sensor: SensorSummary | undefined, log: Pick<Logger, "warn">): void {
  if (sensor === undefined) return;
  const { source, keyId: key, lastSeen } = sensor;
  log.warn(
    { sensor: nameOf(sensor), source, key, lastSeen: new Date(lastSeen).toISOString() },
    "a sensor has fallen silent: check that it runs and reaches this service",
  );
}
