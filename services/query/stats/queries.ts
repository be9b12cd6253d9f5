import { ATTACK_TAG } from "@noisefloor/clickhouse/client/attack-sql.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { ADDRESS_TAGS, OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import type { FacetField } from "@noisefloor/clickhouse/facets/facets.ts";
import { NETWORK_ASN, NETWORK_ORGANIZATION } from "@noisefloor/clickhouse/facets/network-value.ts";
import { z } from "zod";
import { addUpSeverities, countPerSeverity, severityCount } from "../activity/queries.ts";
import { facetRows, IN_SCOPES, scopesParam } from "../scope-sql.ts";

/** Milliseconds since 1970 UTC. */
const since = z.int();
const SEEN = "last_seen >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')";
const sinceParams = z.object({ scopes: scopesParam, from: since });

/** All distinct addresses that were seen since a time. */
export const countSeen = defineQuery({
  name: "stats-total",
  sql: `SELECT uniqExact(source_ip) AS active_ips FROM ${facetRows("seen")}`,
  combine: (results) => `SELECT sum(active_ips) AS active_ips FROM ${results}`,
  params: sinceParams,
  row: z.object({ active_ips: z.int() }),
});

/**
 * Distinct observations by hour, from `from` to `end` (seconds since 1970 UTC), with how many hours `start` is before.
 * FINAL: one that arrived twice counts once.
 */
export const countObservations = defineQuery({
  name: "stats-observations",
  sql: `SELECT intDiv(toUnixTimestamp(observed_at) - {start:UInt32}, 3600) AS hour, count() AS observations
    FROM ${OBSERVATIONS} FINAL
    WHERE ${IN_SCOPES} AND observed_at >= toDateTime({from:UInt32}, 'UTC') AND observed_at < toDateTime({end:UInt32}, 'UTC')
    GROUP BY hour
    SETTINGS do_not_merge_across_partitions_select_final = 1, optimize_move_to_prewhere_if_final = 1`,
  combine: (results) => `SELECT hour, sum(observations) AS observations FROM ${results} GROUP BY hour`,
  params: z.object({ scopes: scopesParam, start: z.int(), from: z.int(), end: z.int() }),
  row: z.object({ hour: z.int(), observations: z.int() }),
});

/**
 * The places with the most addresses, ties by place: values of a field since one. Of a network's names, the last in
 * alphabetical order.
 */
function countByPlace<Place extends z.ZodType>(
  name: string,
  field: FacetField,
  first: string,
  sql: string,
  place: Place,
) {
  const counted = `SELECT ${sql} AS place, max(${NETWORK_ORGANIZATION}) AS organization, uniqExact(source_ip) AS active_ips
    FROM ${facetRows(field)} AND value >= '${first}' GROUP BY place`;
  const mostActive = "ORDER BY active_ips DESC, place LIMIT {limit:UInt32}";
  return defineQuery({
    name,
    sql: `${counted} ${mostActive}`,
    perServer: counted,
    combine: (results) => `SELECT place, max(organization) AS organization, sum(active_ips) AS active_ips
      FROM ${results} GROUP BY place ${mostActive}`,
    params: sinceParams.extend({ limit: z.int() }),
    row: z.object({ place, organization: z.string(), active_ips: z.int() }),
  });
}
export const countByNetwork = countByPlace("stats-networks", "network", "0000000001", NETWORK_ASN, z.int());
export const countByCountry = countByPlace("stats-countries", "country", "", "upper(value)", z.string());

/**
 * All distinct addresses that were seen since a time, by their severity since `since`.
 * Tags by intention, as the server compares each distinct value of the column once.
 */
export const countSeenBySeverity = defineQuery({
  name: "stats-classifications",
  sql: countPerSeverity(
    `SELECT toUInt32(source_ip) AS number, max(toInt8(multiIf(
        tag_id IN {malicious:Array(UUID)}, 3, tag_id IN {suspicious:Array(UUID)}, 2,
        tag_id IN {unknown:Array(UUID)}, 1, tag_id IN {benign:Array(UUID)}, 0, -1))) AS worst,
        max(tag_id = ${ATTACK_TAG}) AS attacked
      FROM ${ADDRESS_TAGS}
      WHERE ${IN_SCOPES} AND last_seen >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      GROUP BY source_ip HAVING max(${SEEN})`,
  ),
  combine: addUpSeverities,
  params: z.object({
    ...sinceParams.shape,
    since,
    benign: z.array(z.string()).readonly(),
    unknown: z.array(z.string()).readonly(),
    suspicious: z.array(z.string()).readonly(),
    malicious: z.array(z.string()).readonly(),
  }),
  row: severityCount,
});
