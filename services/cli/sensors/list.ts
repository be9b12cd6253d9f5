import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { readSensorKeys, type SensorKey } from "@noisefloor/clickhouse/tables/sensor-keys.ts";
import {
  type Counts,
  nameOf,
  readSensorSummaries,
  rejectedShare,
  type SensorSummary,
} from "@noisefloor/clickhouse/tables/sensor-summaries.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { CommandContext } from "../framework/command.ts";
import { type OutputOptions, show } from "../framework/output.ts";

/** `noisefloor sensors list`: the keys, and what each sensor has sent. */
export async function listSensors(
  client: ClickHouseClient,
  options: OutputOptions,
  context: CommandContext,
): Promise<void> {
  const { print } = context;
  const [keys, sensors] = [await readSensorKeys(client), await readSensorSummaries(client, Date.now())];
  if (options.json) {
    print(JSON.stringify({ keys: keys.map(keyToJson), sensors: sensors.map(sensorToJson) }));
    return;
  }
  print("Keys:");
  show(keys.map(keyToJson), options, context);
  print();
  print("Sensors of the last 7 days (records accepted and rejected; today since 00:00 UTC):");
  show(sensors.map(sensorRow), options, context);
}

function keyToJson({ keyId, dataset, workspaceId, sensorId = "", label, createdAt, isRevoked }: SensorKey) {
  return {
    id: keyId,
    dataset,
    workspace: workspaceId,
    sensor: sensorId,
    created: formatTimestamp(createdAt),
    state: isRevoked ? "revoked" : "valid",
    label,
  };
}

/** A summary as JSON, for scripts. */
export function sensorToJson(sensor: SensorSummary) {
  const { source, keyId, sensorId, isRest, lastSeen, isSilent, formats, today, week, perHour } = sensor;
  return {
    sensor: sensorId === "" ? null : sensorId,
    is_rest: isRest,
    source,
    key: keyId === "" ? null : keyId,
    state: isSilent ? "silent" : "active",
    last_seen: formatTimestamp(lastSeen),
    formats,
    accepted_per_hour: Number(perHour.toFixed(2)),
    today: countsToJson(today),
    seven_days: countsToJson(week),
  };
}

const countsToJson = ({ accepted, ignored, rejected, reasons }: Counts) => ({ accepted, rejected, ignored, reasons });

function sensorRow(sensor: SensorSummary) {
  const { source, keyId, lastSeen, isSilent, formats, today, week, perHour } = sensor;
  return {
    sensor: nameOf(sensor),
    via: source,
    key: keyId === "" ? "-" : keyId,
    "last seen": formatTimestamp(lastSeen),
    state: isSilent ? "SILENT" : rejectedShare(sensor.recent) > 0.5 ? "REJECTED" : "active",
    "per hour": Math.round(perHour),
    today: today.accepted,
    rejected: formatReasons(today),
    "7 days": week.accepted,
    "rejected ": formatReasons(week),
    formats: formats.join(","),
  };
}

/** As `12 (unknown-tag 10, not-json 2)`. */
export function formatReasons({ rejected, reasons }: Counts): string {
  if (rejected === 0) return "0";
  const named = Object.entries(reasons)
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => `${reason} ${count}`);
  return `${rejected} (${named.join(", ")})`;
}
