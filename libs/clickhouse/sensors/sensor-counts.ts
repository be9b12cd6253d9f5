import { DAY_MS, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { SENSOR_ACTIVITY } from "../client/table-names.ts";
import { toRow } from "../records/rows.ts";
import { isShownActivity } from "../schema/sensor-count-rows.ts";

/** A row to insert: what one process has counted so far. */
export type ActivityRow = {
  /** The beginning of an hour, in milliseconds since 1970 UTC. */
  readonly hour: number;
  readonly source: string;
  /** Empty for senders without a key. */
  readonly keyId: string;
  /** The workspace of personal data; empty for shared datasets, and for rejected records that no key binds to one. */
  readonly workspaceId: string;
  /** Empty when the records name none. */
  readonly sensorId: string;
  /** Whether it stands for the sensors that are not counted by name. */
  readonly isRest: boolean;
  readonly format: string;
  /** `accepted`, `ignored` or the reason of a rejection. */
  readonly outcome: string;
  readonly process: string;
  readonly records: number;
  /** When the last of them was handled, in milliseconds since 1970 UTC. */
  readonly lastAt: number;
};

/** Inserts counts. A row that is there already counts once, and of two the larger. */
export async function writeSensorCounts(client: ClickHouseClient, rows: readonly ActivityRow[]): Promise<void> {
  if (rows.length === 0) return;
  await client.insert({
    table: "sensor_activity",
    values: rows.map((row) => toRow({ ...row, hour: Math.floor(row.hour / 1_000) })),
    format: "JSONEachRow",
  });
}

const countsSchema = z.record(z.string(), z.int());

const sensorCountsSchema = z.object({
  source: z.string(),
  keyId: z.string(),
  sensorId: z.string(),
  isRest: z.boolean(),
  /** When its last record was handled, whatever its outcome. Milliseconds since 1970 UTC. */
  lastSeen: z.int(),
  /** Records by outcome: since the last midnight UTC, in 7 days, and in the present and the last hour. */
  today: countsSchema,
  week: countsSchema,
  recent: countsSchema,
  /** Accepted in the present hour and the 23 before it. */
  acceptedDay: z.int(),
  /** In how many hours of the 7 days any came, and the longest pause between two of these, in hours. */
  activeHours: z.int(),
  longestPause: z.int(),
  formats: z.array(z.string()),
});
/** What one sensor sent by one way and with one key in the last 7 days. */
export type SensorCounts = z.infer<typeof sensorCountsSchema>;

const IS_SHOWN = isShownActivity(
  "{workspaces:Array(String)}",
  SENSOR_ACTIVITY,
  "hour >= toDateTime({week:UInt32}, 'UTC')",
);

/** The inner query makes one count of those of a process. `sumMap` would leave out outcomes without records. */
export const sensorCountsQuery = defineQuery({
  name: "sensor-counts",
  sql: `SELECT source, key_id AS keyId, sensor_id AS sensorId, is_rest AS isRest,
      toUnixTimestamp64Milli(max(last)) AS lastSeen,
      sumMapIf(map(outcome, count), hour >= toDateTime({today:UInt32}, 'UTC')) AS today,
      sumMap(map(outcome, count)) AS week,
      sumMapIf(map(outcome, count), hour >= toDateTime({recent:UInt32}, 'UTC')) AS recent,
      sumIf(count, outcome = 'accepted' AND hour >= toDateTime({day:UInt32}, 'UTC')) AS acceptedDay,
      length(groupUniqArray(hour) AS hours) AS activeHours,
      intDiv(arrayMax(arrayDifference(arraySort(arrayMap(each -> toUnixTimestamp(each), hours)))), 3600) AS longestPause,
      arraySort(groupUniqArrayIf(format, format != '')) AS formats
    FROM (
      SELECT hour, source, key_id, sensor_id, is_rest, format, outcome, max(records) AS count, max(last_at) AS last
      FROM ${SENSOR_ACTIVITY} WHERE hour >= toDateTime({week:UInt32}, 'UTC') AND ({isAll:Bool} OR ${IS_SHOWN})
      GROUP BY hour, source, key_id, workspace_id, sensor_id, is_rest, format, outcome, process)
    GROUP BY source, keyId, sensorId, isRest ORDER BY source, keyId, sensorId, isRest`,
  params: z.object({
    today: z.int(),
    week: z.int(),
    day: z.int(),
    recent: z.int(),
    isAll: z.boolean(),
    workspaces: z.array(z.string()),
  }),
  row: sensorCountsSchema,
});

/**
 * The parameters of {@link sensorCountsQuery}.
 * @param now milliseconds since 1970 UTC.
 * @param workspaces the workspaces to read, with an empty text for records of no workspace; left out, all.
 */
export function sensorCountsParams(
  now: number,
  workspaces?: readonly string[],
): z.input<typeof sensorCountsQuery.params> {
  const hoursAgo = (hours: number) => (Math.floor(now / HOUR_MS) - hours) * 3_600;
  return {
    today: Math.floor(now / DAY_MS) * 86_400,
    week: hoursAgo(7 * 24 - 1),
    day: hoursAgo(23),
    recent: hoursAgo(1),
    isAll: workspaces === undefined,
    workspaces: [...(workspaces ?? [])],
  };
}

/** What every sensor sent in the last 7 days. The parameters are those of {@link sensorCountsParams}. */
export function readSensorCounts(
  client: ClickHouseClient,
  now: number,
  workspaces?: readonly string[],
): Promise<SensorCounts[]> {
  return run(client, sensorCountsQuery, sensorCountsParams(now, workspaces));
}

const keysSeen = defineQuery({
  name: "sensor-keys-seen",
  sql: `SELECT key_id AS keyId, toUnixTimestamp64Milli(max(last_at)) AS at FROM ${SENSOR_ACTIVITY}
    WHERE key_id != '' GROUP BY keyId`,
  params: z.object({}),
  row: z.object({ keyId: z.string(), at: z.int() }),
});

/** When each key sent last, by its id, in milliseconds since 1970 UTC; without those that never did. */
export async function readKeysSeen(client: ClickHouseClient): Promise<ReadonlyMap<string, number>> {
  return new Map((await run(client, keysSeen, {})).map(({ keyId, at }) => [keyId, at]));
}
