import { PROOF } from "@noisefloor/clickhouse/client/contact-sql.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { PROOFS } from "@noisefloor/domain/tags/contact.ts";
import { z } from "zod";
import { allRows, IN_SCOPES, scopesParam } from "../scope-sql.ts";

/**
 * Scanners choose the text in rows: what a query about many addresses may answer with, in bytes. Less than the server
 * buffers, so that the error arrives as one.
 */
const MAX_RESULT_BYTES = 12 * 1024 * 1024;
const SMALL_RESULT_BYTES = 4 * 1024 * 1024;

/** Max distinct values of each kind that a response lists for an address, the first in sort order. */
const MAX_VALUES = 1_000;

const distinct = (column: string) =>
  `arraySlice(arraySort(groupUniqArrayIf(${column}, ${column} != '')), 1, ${MAX_VALUES})`;
/** The same for a column whose values are lists. */
const distinctMembers = (column: string) => `arraySlice(arraySort(groupUniqArrayArray(${column})), 1, ${MAX_VALUES})`;
/** Fingerprints with their destination port; 0 where the sensor reported none. */
const fingerprints = (column: string) =>
  `arraySlice(arraySort(groupUniqArrayIf((${column}, ifNull(destination_port, 0)), ${column} != '')), 1, ${MAX_VALUES})`;
/** The value of the latest observation that has one; of simultaneous observations, of the one with the highest id. */
const latestIf = (value: string, isKnown: string) => `argMaxIf(${value}, (observed_at, observation_id), ${isKnown})`;
const latest = (column: string, empty: string) => latestIf(column, `${column} != ${empty}`);

/** The SQL of a column beside its schema. */
const SQL = z.registry<{ readonly sql: string }>();
function column<Schema extends z.ZodType>(sql: string, schema: Schema): Schema {
  SQL.add(schema, { sql });
  return schema;
}
const texts = (sql: string) => column(sql, z.array(z.string()));
/** Each with its destination port, which is 0 where the sensor reported none. */
const withPorts = (sql: string) => column(sql, z.array(z.tuple([z.string(), z.int()])));
const text = (name: string) => column(latest(name, "''"), z.string());

/** What is known of an address, from some of its observations. */
export const detailsRow = z.object({
  ip: column("toString(source_ip)", z.string()),
  first_seen: column("toUnixTimestamp64Milli(min(observed_at))", z.int()),
  sensors: column("uniqExact(sensor_id)", z.int()),
  hits: column("count()", z.int()),
  ports: column(
    `arraySlice(arraySort(groupUniqArrayIf((assumeNotNull(destination_port), transport), destination_port IS NOT NULL)), 1, ${MAX_VALUES})`,
    z.array(z.tuple([z.int(), z.string()])),
  ),
  methods: texts(distinct("http_method")),
  paths: texts(distinct("http_path")),
  user_agents: texts(distinct("http_user_agent")),
  headers: texts(distinctMembers("http_headers")),
  cookies: texts(distinctMembers("http_cookies")),
  ja3: withPorts(fingerprints("tls_ja3")),
  ja4: texts(distinct("tls_ja4")),
  hassh: withPorts(fingerprints("ssh_hassh")),
  asn: column(latest("asn", "0"), z.int()),
  organization: text("organization"),
  country: text("country"),
  region: text("region"),
  city: text("city"),
  /** Degrees north and east; both 0 where no observation has them. */
  coordinates: column(
    latestIf("(latitude, longitude)", "(latitude, longitude) != (0, 0)"),
    z.tuple([z.number(), z.number()]),
  ),
  /** The reverse DNS name, and whether it leads back to the address. */
  named: column(latestIf("(rdns, rdns_validated)", "rdns != ''"), z.tuple([z.string(), z.boolean()])),
  /** The latest observation that proves contact, in milliseconds; at 0 where none does. */
  contact: column(
    latestIf(
      `(toUnixTimestamp64Milli(observed_at), ${PROOF}, ifNull(destination_port, 0), sensor_id, dataset, workspace_id)`,
      "established",
    ),
    z.tuple([z.int(), z.enum(PROOFS).or(z.literal("")), z.int(), z.string(), z.string(), z.string()]),
  ),
});
export const DETAIL_COLUMNS = Object.entries(detailsRow.shape)
  .map(([name, schema]) => `${SQL.get(schema)?.sql} AS ${name}`)
  .join(", ");

/**
 * Aggregates the observations of some addresses since `since` (milliseconds), one row an address. FINAL: an observation
 * that arrived twice counts once, with its latest content, even before ClickHouse has merged the two rows.
 *
 * PREWHERE comes before FINAL, so it may only ask for what both rows share: columns of the sorting key.
 */
export const addressDetails = defineQuery({
  name: "address-details",
  sql: `
    SELECT ${DETAIL_COLUMNS}
    FROM ${OBSERVATIONS} FINAL
    PREWHERE source_ip IN {ips:Array(IPv4)} AND ${IN_SCOPES}
      AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    GROUP BY source_ip
    SETTINGS do_not_merge_across_partitions_select_final = 1`,
  combine: allRows,
  params: z.object({ ips: z.array(z.string()), scopes: scopesParam, since: z.int() }),
  row: detailsRow,
});

/** The same, which fails with TOO_MANY_ROWS_OR_BYTES when its rows take more bytes. */
const addressDetailsWithin = (bytes: number) =>
  defineQuery({
    ...addressDetails,
    sql: `${addressDetails.sql}, max_result_bytes = ${bytes}`,
    perServer: addressDetails.sql,
    combine: (results) => `${allRows(results)} SETTINGS max_result_bytes = ${bytes}`,
  });
/** Fails when its rows are larger than one query may keep in memory. */
export const boundedAddressDetails = addressDetailsWithin(MAX_RESULT_BYTES);
/** Fails when its rows are larger than one of several concurrent queries may keep in memory. */
export const smallAddressDetails = addressDetailsWithin(SMALL_RESULT_BYTES);
export type AddressDetails = z.output<typeof detailsRow>;

/** When an address was first seen since `since`, both in milliseconds since 1970 UTC; 0 if it was not. */
export const firstSeen = defineQuery({
  name: "address-first-seen",
  sql: `SELECT toUnixTimestamp64Milli(min(observed_at)) AS first_seen FROM ${OBSERVATIONS}
    PREWHERE source_ip = {ip:IPv4} AND ${IN_SCOPES}
      AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')`,
  // All servers but one say 0.
  combine: (results) => `SELECT max(first_seen) AS first_seen FROM ${results}`,
  params: z.object({ ip: z.string(), scopes: scopesParam, since: z.int() }),
  row: z.object({ first_seen: z.int() }),
});
