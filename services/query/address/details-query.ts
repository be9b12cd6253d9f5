import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import { IN_SCOPES, scopesParam } from "../scope-sql.ts";

/** The most distinct values of a kind that an answer lists for an address: the first in their order. */
const MOST_VALUES = 1_000;

const distinct = (column: string) =>
  `arraySlice(arraySort(groupUniqArrayIf(${column}, ${column} != '')), 1, ${MOST_VALUES})`;
/** Fingerprints with the port at which each was seen; 0 where the sensor named none. */
const fingerprints = (column: string) =>
  `arraySlice(arraySort(groupUniqArrayIf((${column}, ifNull(destination_port, 0)), ${column} != '')), 1, ${MOST_VALUES})`;
/** The value of the latest observation that has one; the id decides between observations of the same moment. */
const latest = (column: string, empty: string) =>
  `argMaxIf(${column}, (observed_at, observation_id), ${column} != ${empty})`;

/**
 * What the observations of some addresses since `since` (milliseconds) say of them, one row an address. FINAL: one that
 * came twice counts once and says what it said last, whether or not the server has merged the two yet.
 */
export const addressDetails = defineQuery({
  name: "address-details",
  sql: `
    SELECT
      toString(source_ip) AS ip,
      uniqExact(sensor_id) AS sensors,
      count() AS hits,
      arraySlice(arraySort(groupUniqArrayIf((assumeNotNull(destination_port), transport), destination_port IS NOT NULL)), 1, ${MOST_VALUES}) AS ports,
      ${distinct("http_method")} AS methods,
      ${distinct("http_path")} AS paths,
      ${distinct("http_user_agent")} AS user_agents,
      ${fingerprints("tls_ja3")} AS ja3,
      ${distinct("tls_ja4")} AS ja4,
      ${fingerprints("ssh_hassh")} AS hassh,
      ${latest("asn", "0")} AS asn,
      ${latest("organization", "''")} AS organization,
      ${latest("country", "''")} AS country,
      ${latest("city", "''")} AS city,
      ${latest("rdns", "''")} AS rdns
    FROM observations FINAL
    WHERE source_ip IN {ips:Array(IPv4)} AND ${IN_SCOPES}
      AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    GROUP BY source_ip
    SETTINGS do_not_merge_across_partitions_select_final = 1`,
  params: z.object({ ips: z.array(z.string()), scopes: scopesParam, since: z.int() }),
  row: z.object({
    ip: z.string(),
    sensors: z.int(),
    hits: z.int(),
    ports: z.array(z.tuple([z.int(), z.string()])),
    methods: z.array(z.string()),
    paths: z.array(z.string()),
    user_agents: z.array(z.string()),
    ja3: z.array(z.tuple([z.string(), z.int()])),
    ja4: z.array(z.string()),
    hassh: z.array(z.tuple([z.string(), z.int()])),
    asn: z.int(),
    organization: z.string(),
    country: z.string(),
    city: z.string(),
    rdns: z.string(),
  }),
});
export type AddressDetails = z.output<(typeof addressDetails)["row"]>;
