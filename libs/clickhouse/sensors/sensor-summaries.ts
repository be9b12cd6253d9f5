import { isSilent } from "@noisefloor/domain/sensors/silence.ts";
import { type Credential, credentials } from "../access/credentials.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { SIMULATION } from "../schema/sensor-count-rows.ts";
import { readSensorCounts, type SensorCounts } from "./sensor-counts.ts";

export type Counts = {
  readonly accepted: number;
  readonly ignored: number;
  readonly rejected: number;
  /** Rejected records by reason. */
  readonly reasons: Readonly<Record<string, number>>;
};

/** What one sensor sent by one way and with one key in the last 7 days. */
export type SensorSummary = Pick<SensorCounts, "source" | "keyId" | "sensorId" | "isRest" | "lastSeen" | "formats"> & {
  /** Undefined for keys of the settings, and without a key. */
  readonly key: Credential | undefined;
  /** Whether files were replayed rather than sent by the sensor, whose state they say nothing about. */
  readonly isReplayed: boolean;
  readonly isSilent: boolean;
  readonly today: Counts;
  readonly week: Counts;
  /** The counts of the present hour and the one before. */
  readonly recent: Counts;
  /** Accepted records an hour over the last 24 hours. */
  readonly perHour: number;
};

/**
 * Every sensor that has sent anything in the last 7 days.
 * @param now milliseconds since 1970 UTC.
 * @param workspaces the workspaces to read, with an empty text for records of no workspace; left out, all.
 */
export async function readSensorSummaries(
  client: ClickHouseClient,
  now: number,
  workspaces?: readonly string[],
): Promise<SensorSummary[]> {
  const [activity, keys] = await Promise.all([readSensorCounts(client, now, workspaces), credentials.read(client)]);
  return summarize(activity, keys, now);
}

/** @param keys of sensors, and any others. @param now milliseconds since 1970 UTC. */
export function summarize(
  activity: readonly SensorCounts[],
  keys: readonly Credential[],
  now: number,
): SensorSummary[] {
  const keysById = new Map(keys.map((key) => [key.id, key]));
  return activity.map((counts) => {
    const { source, keyId, sensorId, isRest, lastSeen, formats } = counts;
    const key = keysById.get(keyId);
    const isReplayed = source === "file";
    // What has no name cannot be told apart, so neither can its silence; a simulation ends, and so does a replay.
    const isWatched =
      source !== SIMULATION &&
      !isReplayed &&
      !isRest &&
      (sensorId !== "" || key !== undefined) &&
      key?.isRevoked !== true;
    return {
      ...{ source, keyId, sensorId, isRest, lastSeen, formats, key },
      isReplayed,
      isSilent: isWatched && isSilent(counts, key?.subject === sensorId && sensorId !== "", now),
      today: toCounts(counts.today),
      week: toCounts(counts.week),
      recent: toCounts(counts.recent),
      perHour: counts.acceptedDay / 24,
    };
  });
}

function toCounts({ accepted = 0, ignored = 0, ...reasons }: Record<string, number>): Counts {
  return { accepted, ignored, rejected: Object.values(reasons).reduce((sum, count) => sum + count, 0), reasons };
}

/** The share of the records that were rejected, of those that could have been stored; 0 when there were none. */
export function rejectedShare({ accepted, rejected }: Counts): number {
  return accepted + rejected === 0 ? 0 : rejected / (accepted + rejected);
}

/** What people call a sensor. */
export function nameOf({ isRest, sensorId, key, keyId }: SensorSummary): string {
  if (isRest) return "(all others)";
  if (sensorId !== "") return sensorId;
  return key?.subject || key?.label || keyId || "(no name)";
}
