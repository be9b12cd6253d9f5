import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import { IN_SCOPES, scopesParam } from "../scope-sql.ts";
import { NETWORK_COLUMNS, NETWORKS, REQUESTED, WITH_NETWORKS } from "./network-sql.ts";

/**
 * One row for each distinct address in `ips`: when it was last seen since `since` (milliseconds; 0 if it was not), its
 * tags and the worst intention among them (-1 without tags), and the benign service and actor in whose networks it is.
 * @param withTags otherwise `tag_ids` are empty, which lookups of single addresses do not need.
 */
export const lookUpAddresses = (withTags: boolean) =>
  defineQuery({
    name: withTags ? "address-lookup" : "address-summary",
    sql: `
    WITH ${NETWORKS}
    SELECT
      toString(requested.ip) AS ip,
      toUnixTimestamp64Milli(seen.latest) AS last_seen,
      ${withTags ? "seen.tag_ids" : "emptyArrayString()"} AS tag_ids,
      if(seen.is_tagged, seen.worst, -1) AS worst,
      ${NETWORK_COLUMNS}
    FROM ${REQUESTED}
    LEFT JOIN (
      SELECT source_ip, max(last_seen) AS latest, max(tag.is_known) AS is_tagged,
        maxIf(toInt8(tag.intention), tag.is_known) AS worst
        ${withTags ? ", arraySort(groupUniqArrayIf(toString(tag_id), tag.is_known)) AS tag_ids" : ""}
      FROM address_tags
      LEFT JOIN (SELECT id, intention, true AS is_known FROM tags FINAL) AS tag ON tag.id = address_tags.tag_id
      WHERE source_ip IN {ips:Array(IPv4)} AND ${IN_SCOPES}
        AND last_seen >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      GROUP BY source_ip
    ) AS seen ON seen.source_ip = requested.ip
    ${WITH_NETWORKS}`,
    params: z.object({ ips: z.array(z.string()), scopes: scopesParam, since: z.int() }),
    row: z.object({
      ip: z.string(),
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
export type LookupRow = z.output<ReturnType<typeof lookUpAddresses>["row"]>;
