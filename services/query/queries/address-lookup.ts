import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import { IN_ROOMS, roomsParam } from "./rooms.ts";

/**
 * What is known of some addresses: when each was first and last seen since `since` (milliseconds; 0 when it was not),
 * the tags it was seen with and the worst intention among them (-1 without tags), the benign service and the benign
 * actor whose networks hold it. The first time counts from the start of the day of `since`.
 * One row for each distinct address asked for. Network lists are joined on the range that starts last before the
 * address; the ranges are disjoint, so it is the only candidate.
 */
export const lookUpAddresses = defineQuery({
  name: "address-lookup",
  sql: `
    WITH
      service_ranges AS (
        SELECT 1 AS one, first, last, list_id FROM network_ranges
        WHERE kind = 'service' AND generation = (SELECT max(generation) FROM network_generations WHERE kind = 'service')),
      actor_ranges AS (
        SELECT 1 AS one, first, last, list_id FROM network_ranges
        WHERE kind = 'actor' AND generation = (SELECT max(generation) FROM network_generations WHERE kind = 'actor')),
      lists AS (SELECT * FROM network_lists FINAL)
    SELECT
      toString(asked.ip) AS ip,
      toUnixTimestamp64Milli(seen.earliest) AS first_seen,
      toUnixTimestamp64Milli(seen.latest) AS last_seen,
      tagged.tag_ids AS tag_ids,
      if(notEmpty(tagged.tag_ids), tagged.worst, -1) AS worst,
      service.name AS service,
      service.category AS service_category,
      service.description AS service_description,
      service.explanation AS service_explanation,
      service.reference AS service_reference,
      service.trust_level AS service_trust_level,
      toUnixTimestamp64Milli(service.refreshed_at) AS service_refreshed_at,
      actor.name AS actor
    FROM (SELECT DISTINCT arrayJoin({ips:Array(IPv4)}) AS ip, toUInt32(ip) AS number, 1 AS one) AS asked
    LEFT JOIN (
      SELECT source_ip, min(first_seen) AS earliest, max(last_seen) AS latest FROM address_daily
      WHERE source_ip IN {ips:Array(IPv4)} AND ${IN_ROOMS}
        AND day >= toDate(fromUnixTimestamp64Milli({since:Int64}, 'UTC'))
      GROUP BY source_ip HAVING latest >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    ) AS seen ON seen.source_ip = asked.ip
    LEFT JOIN (
      SELECT source_ip, arraySort(groupArray(toString(tag_id))) AS tag_ids, max(toInt8(tag.intention)) AS worst
      FROM (
        SELECT source_ip, tag_id, max(last_seen) AS latest FROM address_tags
        WHERE source_ip IN {ips:Array(IPv4)} AND ${IN_ROOMS}
        GROUP BY source_ip, tag_id HAVING latest >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      ) AS seen_with
      INNER JOIN (SELECT id, intention FROM tags FINAL) AS tag ON tag.id = seen_with.tag_id
      GROUP BY source_ip
    ) AS tagged ON tagged.source_ip = asked.ip
    ASOF LEFT JOIN service_ranges AS service_range ON service_range.one = asked.one AND asked.number >= service_range.first
    ASOF LEFT JOIN actor_ranges AS actor_range ON actor_range.one = asked.one AND asked.number >= actor_range.first
    LEFT JOIN (SELECT * FROM lists WHERE kind = 'service') AS service
      ON service.list_id = if(asked.number <= service_range.last, service_range.list_id, '')
    LEFT JOIN (SELECT * FROM lists WHERE kind = 'actor') AS actor
      ON actor.list_id = if(asked.number <= actor_range.last, actor_range.list_id, '')`,
  params: z.object({ ips: z.array(z.string()), rooms: roomsParam, since: z.int() }),
  row: z.object({
    ip: z.string(),
    first_seen: z.int(),
    last_seen: z.int(),
    tag_ids: z.array(z.string()),
    worst: z.int(),
    service: z.string(),
    service_category: z.string(),
    service_description: z.string(),
    service_explanation: z.string(),
    service_reference: z.string(),
    service_trust_level: z.string(),
    service_refreshed_at: z.int(),
    actor: z.string(),
  }),
});
