import { type Credential, readCredentials } from "@noisefloor/clickhouse/access/credentials.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { readKeysSeen } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import {
  type Counts,
  nameOf,
  readSensorSummaries,
  rejectedShare,
  type SensorSummary,
} from "@noisefloor/clickhouse/sensors/sensor-summaries.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { stateOf } from "../access/credentials.ts";
import type { CommandContext } from "../framework/command.ts";
import { type OutputOptions, show } from "../framework/output.ts";

/** `noisefloor sensors list`: the keys, and what each sensor has sent. */
export async function listSensors(
  client: ClickHouseClient,
  options: OutputOptions,
  context: CommandContext,
): Promise<void> {
  const { print } = context;
  const [stored, sensors, seen] = await Promise.all([
    readCredentials(client, "sensor"),
    readSensorSummaries(client, Date.now()),
    readKeysSeen(client),
  ]);
  const keys = stored.map((key) => keyToJson(key, seen.get(key.id)));
  if (options.json) {
    print(JSON.stringify({ keys, sensors: sensors.map(sensorToJson) }));
    return;
  }
  print("Keys:");
  show(
    keys.map(({ last_sent, ...key }) => ({ ...key, "last sent": last_sent ?? "never" })),
    options,
    context,
  );
  print();
  print("Sensors of the last 7 days (records accepted, rejected and ignored; today since 00:00 UTC):");
  show(sensors.map(sensorRow), options, context);
}

/** @param lastSent undefined for a key that never sent anything. */
function keyToJson(key: Credential, lastSent: number | undefined) {
  return {
    id: key.id,
    dataset: key.dataset,
    workspace: key.workspaceId,
    sensor: key.subject,
    created: formatTimestamp(key.createdAt),
    state: stateOf(key),
    label: key.label,
    last_sent: lastSent === undefined ? null : formatTimestamp(lastSent),
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
  const { source, keyId, lastSeen, isReplayed, isSilent, formats, today, week, perHour } = sensor;
  return {
    sensor: nameOf(sensor),
    via: source,
    key: keyId === "" ? "-" : keyId,
    "last seen": formatTimestamp(lastSeen),
    state: isReplayed ? "replay" : isSilent ? "SILENT" : rejectedShare(sensor.recent) > 0.5 ? "REJECTED" : "active",
    "per hour": Math.round(perHour),
    today: today.accepted,
    rejected: formatReasons(today),
    ignored: today.ignored,
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
