import { defineQuery } from "@noisefloor/clickhouse/query.ts";
import { z } from "zod";
import { IN_ROOMS, roomsParam } from "./rooms.ts";

/**
 * What is known of some addresses: when each was last seen since `since` (milliseconds; 0 when it was not), the worst
 * intention among its tags (-1 without tags), the benign service and the benign actor whose networks hold it.
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
      lists AS (SELECT kind, list_id, name, refreshed_at FROM network_lists FINAL)
    SELECT
      toString(asked.ip) AS ip,
      toUnixTimestamp64Milli(seen.latest) AS last_seen,
      if(tagged.tags > 0, tagged.worst, -1) AS worst,
      service.name AS service,
      toUnixTimestamp64Milli(service.refreshed_at) AS service_refreshed_at,
      actor.name AS actor
    FROM (SELECT DISTINCT arrayJoin({ips:Array(IPv4)}) AS ip, toUInt32(ip) AS number, 1 AS one) AS asked
    LEFT JOIN (
      SELECT source_ip, max(last_seen) AS latest FROM address_daily
      WHERE source_ip IN {ips:Array(IPv4)} AND ${IN_ROOMS}
      GROUP BY source_ip HAVING latest >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    ) AS seen ON seen.source_ip = asked.ip
    LEFT JOIN (
      SELECT source_ip, count() AS tags, max(toInt8(tag.intention)) AS worst
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
    last_seen: z.int(),
    worst: z.int(),
    service: z.string(),
    service_refreshed_at: z.int(),
    actor: z.string(),
  }),
});
