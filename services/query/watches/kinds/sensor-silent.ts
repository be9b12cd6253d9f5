import { hash } from "node:crypto";
import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { sensorCountsParams, sensorCountsQuery } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import { formatTimestamp, MINUTE_MS } from "@noisefloor/domain/time/window.ts";
import { MAX_LISTED } from "@noisefloor/domain/watches/watch.ts";
import { nameSome } from "./describe-addresses.ts";
import type { Finding, IsTold, Watching } from "./kind.ts";

/** The workspace of records that belong to none. */
const SHARED = "";

/** A number below 2^53 for a text. */
export const hashOf = (text: string): number => Number.parseInt(hash("sha256", text).slice(0, 13), 16);

/**
 * The sensors whose last record is longer ago than a watch allows, once each time. One that was silent before the watch
 * was made did not stop since then.
 */
export async function findSilentSensors(
  watching: readonly Watching<"sensor_silent">[],
  isTold: IsTold,
  { read, now }: { readonly read: Read; readonly now: () => number },
  signal: AbortSignal,
): Promise<Finding[]> {
  const at = now();
  const byWorkspaces = new Map<string, Promise<ReadonlyMap<string, number>>>();
  const lastSeen = (workspaces: readonly string[]) => {
    const key = JSON.stringify(workspaces);
    const known = byWorkspaces.get(key) ?? readLastSeen(read, at, workspaces, signal);
    byWorkspaces.set(key, known);
    return known;
  };
  const findings: Finding[] = [];
  for (const { watch, caller } of watching) {
    const { sensors, after_minutes } = watch.on;
    const seen = await lastSeen([watch.workspaceId, ...(caller.entitlements.has("sensors") ? [SHARED] : [])]);
    const silent = (sensors.length === 0 ? [...seen.keys()] : sensors).flatMap((sensor) => {
      const last = seen.get(sensor);
      const since = (last ?? 0) + after_minutes * MINUTE_MS;
      if (last === undefined || since > at || since < watch.sinceAt) return [];
      const subject = hashOf(`${sensor} ${last}`);
      return isTold({ ...watch, repeatAfterHours: 0 }, subject, at / 1_000) ? [] : [{ sensor, last, subject }];
    });
    if (silent.length === 0) continue;
    findings.push({
      watch,
      subjects: new Map(silent.map(({ subject, last }) => [subject, Math.floor(last / 1_000)])),
      describe: async () => ({
        type: "sensor_silent" as const,
        summary: `${nameSome(silent.map(({ sensor }) => sensor))} sent nothing for ${after_minutes} minutes`,
        data: {
          after_minutes,
          count: silent.length,
          truncated: silent.length > MAX_LISTED,
          sensors: silent
            .slice(0, MAX_LISTED)
            .map(({ sensor, last }) => ({ sensor, last_seen: formatTimestamp(last) })),
        },
      }),
    });
  }
  return findings;
}

/** When each sensor sent its last record, in ms since 1970 UTC: of those that sent any in the last 7 days. */
async function readLastSeen(read: Read, at: number, workspaces: readonly string[], signal: AbortSignal) {
  const last = new Map<string, number>();
  for (const { sensorId, isRest, source, lastSeen } of await read(
    sensorCountsQuery,
    sensorCountsParams(at, workspaces),
    signal,
  )) {
    // A file that is replayed says nothing of the sensor's state.
    if (sensorId !== "" && !isRest && source !== "file")
      last.set(sensorId, Math.max(lastSeen, last.get(sensorId) ?? 0));
  }
  return last;
}
