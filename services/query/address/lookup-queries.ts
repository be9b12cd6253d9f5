import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import { IN_SCOPES, scopesParam } from "../scope-sql.ts";
import { ASKED, NETWORK_COLUMNS, NETWORKS, WITH_NETWORKS } from "./network-sql.ts";

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
 * What is known of some addresses: when each was first and last seen since `since` (milliseconds; 0 when it was not),
 * the tags it was seen with and the worst intention among them (-1 without tags), the benign service and the benign
 * actor whose networks hold it. The first time counts from the start of the day of `since`.
 * One row for each distinct address asked for.
 */
export const lookUpAddresses = defineQuery({
  name: "address-lookup",
  sql: `
    WITH ${NETWORKS}
    SELECT
      toString(asked.ip) AS ip,
      toUnixTimestamp64Milli(seen.earliest) AS first_seen,
      toUnixTimestamp64Milli(seen.latest) AS last_seen,
      tagged.tag_ids AS tag_ids,
      if(notEmpty(tagged.tag_ids), tagged.worst, -1) AS worst,
      ${NETWORK_COLUMNS}
    FROM ${ASKED}
    LEFT JOIN (
      SELECT source_ip, min(first_seen) AS earliest, max(last_seen) AS latest FROM address_daily
      WHERE source_ip IN {ips:Array(IPv4)} AND ${IN_SCOPES}
        AND day >= toDate(fromUnixTimestamp64Milli({since:Int64}, 'UTC'))
      GROUP BY source_ip HAVING latest >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    ) AS seen ON seen.source_ip = asked.ip
    LEFT JOIN (
      SELECT source_ip, arraySort(groupArray(toString(tag_id))) AS tag_ids, max(toInt8(tag.intention)) AS worst
      FROM (
        SELECT source_ip, tag_id, max(last_seen) AS latest FROM address_tags
        WHERE source_ip IN {ips:Array(IPv4)} AND ${IN_SCOPES}
        GROUP BY source_ip, tag_id HAVING latest >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      ) AS seen_with
      INNER JOIN (SELECT id, intention FROM tags FINAL) AS tag ON tag.id = seen_with.tag_id
      GROUP BY source_ip
    ) AS tagged ON tagged.source_ip = asked.ip
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

/** What single lookups need of the same, in the global dataset: a table that has one row for an address and tag is enough. */
export const summarizeAddresses = defineQuery({
  name: "address-summary",
  sql: `
    WITH ${NETWORKS}
    SELECT
      toString(asked.ip) AS ip,
      toUnixTimestamp64Milli(seen.latest) AS last_seen,
      if(seen.is_tagged, seen.worst, -1) AS worst,
      ${NETWORK_COLUMNS}
    FROM ${ASKED}
    LEFT JOIN (
      SELECT source_ip, max(last_seen) AS latest, max(tag.is_known) AS is_tagged,
        maxIf(toInt8(tag.intention), tag.is_known) AS worst
      FROM address_tags
      LEFT JOIN (SELECT id, intention, true AS is_known FROM tags FINAL) AS tag ON tag.id = address_tags.tag_id
      WHERE source_ip IN {ips:Array(IPv4)} AND dataset = 'global'
        AND last_seen >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      GROUP BY source_ip
    ) AS seen ON seen.source_ip = asked.ip
    ${WITH_NETWORKS}`,
  params: z.object({ ips: z.array(z.string()), since: z.int() }),
  row: z.object({ ip: z.string(), last_seen: z.int(), worst: z.int(), ...networkRow }),
});
