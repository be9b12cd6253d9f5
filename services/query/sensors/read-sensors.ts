import { credentials } from "@noisefloor/clickhouse/access/credentials.ts";
import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { sensorCountsParams, sensorCountsQuery } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import { type SensorSummary, summarize } from "@noisefloor/clickhouse/sensors/sensor-summaries.ts";
import type { Caller } from "@noisefloor/domain/access/caller.ts";

/** The records that belong to no workspace. */
const SHARED = "";

/** The workspaces whose sensors a caller may know. */
export const sensorWorkspaces = (workspaceId: string, { entitlements }: Pick<Caller, "entitlements">) => [
  workspaceId,
  ...(entitlements.has("sensors") ? [SHARED] : []),
];

/** The sensors of some workspaces. */
export async function readSensors(
  workspaces: readonly string[],
  { read, now }: { readonly read: Read; readonly now: () => number },
  signal: AbortSignal,
): Promise<SensorSummary[]> {
  const at = now();
  const [activity, keys] = await Promise.all([
    read(sensorCountsQuery, sensorCountsParams(at, workspaces), signal),
    read(credentials.all, {}, signal),
  ]);
  return summarize(activity, keys, at);
}
