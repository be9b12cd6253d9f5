import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import { IN_SCOPES, scopesParam } from "../scope-sql.ts";
import { NETWORK_COLUMNS, NETWORKS, REQUESTED, WITH_NETWORKS } from "./network-sql.ts";

const networkRow = {
  service: z.string(),
  service_category: z.string(),
  service_description: z.string(),
  service_explanation: z.string(),
  service_reference: z.string(),
  service_trust_level: z.string(),
  service_refreshed_at: z.int(),
  actor: z.string(),
};

/**
 * One row for each distinct address in `ips`: when it was first and last seen since `since` (milliseconds; 0 if it was
 * not), its tags and the worst intention among them (-1 without tags), and the benign service and actor in whose
 * networks it is. `first_seen` can be earlier than `since`, but on the same day.
 */
export const lookUpAddresses = defineQuery({
  name: "address-lookup",
  sql: `
    WITH ${NETWORKS}
    SELECT
      toString(requested.ip) AS ip,
      toUnixTimestamp64Milli(seen.earliest) AS first_seen,
      toUnixTimestamp64Milli(seen.latest) AS last_seen,
      tagged.tag_ids AS tag_ids,
      if(notEmpty(tagged.tag_ids), tagged.worst, -1) AS worst,
      ${NETWORK_COLUMNS}
    FROM ${REQUESTED}
    LEFT JOIN (
      SELECT source_ip, min(first_seen) AS earliest, max(last_seen) AS latest FROM address_daily
      WHERE source_ip IN {ips:Array(IPv4)} AND ${IN_SCOPES}
        AND day >= toDate(fromUnixTimestamp64Milli({since:Int64}, 'UTC'))
      GROUP BY source_ip HAVING latest >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    ) AS seen ON seen.source_ip = requested.ip
    LEFT JOIN (
      SELECT source_ip, arraySort(groupArray(toString(tag_id))) AS tag_ids, max(toInt8(tag.intention)) AS worst
      FROM (
        SELECT source_ip, tag_id, max(last_seen) AS latest FROM address_tags
        WHERE source_ip IN {ips:Array(IPv4)} AND ${IN_SCOPES}
        GROUP BY source_ip, tag_id HAVING latest >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      ) AS seen_with
      INNER JOIN (SELECT id, intention FROM tags FINAL) AS tag ON tag.id = seen_with.tag_id
      GROUP BY source_ip
    ) AS tagged ON tagged.source_ip = requested.ip
    ${WITH_NETWORKS}`,
  params: z.object({ ips: z.array(z.string()), scopes: scopesParam, since: z.int() }),
  row: z.object({
    ip: z.string(),
    first_seen: z.int(),
    last_seen: z.int(),
    tag_ids: z.array(z.string()),
    worst: z.int(),
    ...networkRow,
  }),
});

/** The part that lookups of single addresses in the global dataset need: reads only the small table `address_tags`. */
export const summarizeAddresses = defineQuery({
  name: "address-summary",
  sql: `
    WITH ${NETWORKS}
    SELECT
      toString(requested.ip) AS ip,
      toUnixTimestamp64Milli(seen.latest) AS last_seen,
      if(seen.is_tagged, seen.worst, -1) AS worst,
      ${NETWORK_COLUMNS}
    FROM ${REQUESTED}
    LEFT JOIN (
      SELECT source_ip, max(last_seen) AS latest, max(tag.is_known) AS is_tagged,
        maxIf(toInt8(tag.intention), tag.is_known) AS worst
      FROM address_tags
      LEFT JOIN (SELECT id, intention, true AS is_known FROM tags FINAL) AS tag ON tag.id = address_tags.tag_id
      WHERE source_ip IN {ips:Array(IPv4)} AND dataset = 'global'
        AND last_seen >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      GROUP BY source_ip
    ) AS seen ON seen.source_ip = requested.ip
    ${WITH_NETWORKS}`,
  params: z.object({ ips: z.array(z.string()), since: z.int() }),
  row: z.object({ ip: z.string(), last_seen: z.int(), worst: z.int(), ...networkRow }),
});
