import { defineQuery } from "@noisefloor/clickhouse/query.ts";
import { z } from "zod";
import { IN_ROOMS, roomsParam } from "./rooms.ts";

/** What a timeline can be drawn by, and the label that each observation then has; an empty label is left out. */
const LABELS = {
  classification: `toString(CAST(if(empty(tags), 1, arrayMax(arrayMap(id -> toInt8(severities[id]), tags))), 'Enum8(\\'benign\\' = 0, \\'unknown\\' = 1, \\'suspicious\\' = 2, \\'malicious\\' = 3)'))`,
  destination_port: "if(destination_port IS NULL, '', toString(destination_port))",
  http_path: "http_path",
  http_user_agent: "http_user_agent",
  source_asn: "if(asn = 0, '', concat('AS', toString(asn)))",
  source_org: "organization",
  source_rdns: "rdns",
  tag_ids: "toString(arrayJoin(tags))",
} as const;
export type TimelineField = keyof typeof LABELS;
export const TIMELINE_FIELDS = Object.keys(LABELS).filter((name): name is TimelineField => name in LABELS);

/**
 * Distinct observations of an address per bucket and label, newest bucket first. Buckets are `width` seconds wide and
 * start at multiples of it since 1970 UTC. `is_actor`: the address is a known benign actor's, so all it does is benign.
 */
export const timelineOf = (field: TimelineField) =>
  defineQuery({
    name: `timeline-${field}`,
    sql: `
      WITH (SELECT CAST((groupArray(id), groupArray(toInt8(intention))), 'Map(UUID, Int8)') FROM tags FINAL) AS severities
      SELECT bucket * {width:UInt32} AS start, label, uniqExact(sensor_id, observation_id) AS observations
      FROM (
        SELECT intDiv(toUnixTimestamp(observed_at), {width:UInt32}) AS bucket, sensor_id, observation_id,
          ${field === "classification" ? `if({is_actor:Bool}, 'benign', ${LABELS[field]})` : LABELS[field]} AS label
        FROM observations
        WHERE source_ip = {ip:IPv4} AND ${IN_ROOMS}
          AND observed_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND observed_at < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
      )
      WHERE label != ''
      GROUP BY bucket, label
      ORDER BY bucket DESC, observations DESC, label`,
    params: z.object({
      ip: z.string(),
      rooms: roomsParam,
      from: z.int(),
      end: z.int(),
      width: z.int(),
      is_actor: z.boolean(),
    }),
    row: z.object({ start: z.int(), label: z.string(), observations: z.int() }),
  });
