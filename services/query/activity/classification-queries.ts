import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import {
  ADDRESS_TAGS,
  NETWORK_GENERATIONS,
  NETWORK_RANGES,
  SCOPE_TAGS,
} from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";
import { IN_SCOPES, scopesParam } from "../scope-sql.ts";
import { ACTIVE, blocks, numberColumn, slice } from "./queries.ts";

/** SQL: an address as listed in an answer, 32 bits, the lowest byte first. A number for each would take much longer. */
const addressBytes = (number: string) => `reinterpretAsFixedString(toUInt32(${number}))`;

/** Base64, unchecked: the store has just encoded it, and to check it takes longer than to decode it. */
const LISTED = z.string();

/** The number of distinct addresses of the whole slice. */
export const countAddresses = defineQuery({
  name: "tag-activity-total",
  sql: `SELECT uniqExact(source_ip) AS addresses FROM (${ACTIVE})`,
  shards: { merge: (shards) => `SELECT sum(addresses) AS addresses FROM ${shards}` },
  params: z.object({ ...slice, ...blocks }),
  row: z.object({ addresses: z.int() }),
});

/** The same addresses as base64. Of more than `most` only their number, `total`. */
export const listAddresses = (most: number) => {
  const listed = `SELECT count() AS total, arrayStringConcat(groupArray(${most})(${addressBytes("source_ip")})) AS addresses
    FROM (SELECT DISTINCT source_ip FROM (${ACTIVE}))`;
  const spelled = (rows: string) =>
    `SELECT total, if(total > ${most}, '', base64Encode(addresses)) AS addresses FROM (${rows})`;
  return defineQuery({
    name: "tag-activity-addresses",
    sql: spelled(listed),
    shards: {
      perShard: listed,
      merge: (shards) =>
        spelled(`SELECT sum(shard.total) AS total, arrayStringConcat(groupArray(shard.addresses)) AS addresses
          FROM ${shards} AS shard`),
    },
    params: z.object({ ...slice, ...blocks }),
    row: z.object({ total: z.int(), addresses: LISTED }),
  });
};

/** Tags that are worse than the one that is asked for, their severities, and since when they count, in milliseconds. */
const worse = {
  worse: z.array(z.string()).readonly(),
  severities: z.array(z.int()).readonly(),
  since: z.int(),
};
const IS_WORSE = `last_seen >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND tag_id IN {worse:Array(UUID)}`;
const SEVERITY = "{severities:Array(Int8)}[indexOf({worse:Array(UUID)}, tag_id)]";

/** Of more addresses, reading every row of `address_tags` is faster than looking each of them up in its index. */
const MAX_INDEXED_ADDRESSES = 1_000;
const INDEX_FOR_FEW = `use_index_for_in_with_subqueries_max_values = ${MAX_INDEXED_ADDRESSES}`;

/**
 * The same addresses by classification, as its severity: the worst of all tags that an address had in these scopes
 * since `since` (milliseconds), or benign for the address of a known actor. Every address has the tag itself, whose
 * severity is `own`, so only worse tags are looked for.
 */
export const countByClassification = defineQuery({
  name: "tag-activity-classification",
  sql: `
    WITH active AS (${ACTIVE})
    SELECT severity, count() AS addresses FROM (
      SELECT if(address.number <= actor.last, 0, address.worst) AS severity
      FROM (
        SELECT 1 AS one, toUInt32(source_ip) AS number, max(severity) AS worst
        FROM (
          SELECT source_ip, {own:Int8} AS severity FROM active
          UNION ALL
          SELECT source_ip, ${SEVERITY} AS severity FROM ${ADDRESS_TAGS}
          WHERE ${IN_SCOPES} AND ${IS_WORSE} AND source_ip IN (SELECT source_ip FROM active)
        ) GROUP BY source_ip
      ) AS address
      ASOF LEFT JOIN (
        SELECT 1 AS one, first, last FROM ${NETWORK_RANGES}
        WHERE kind = 'actor' AND generation = (SELECT max(generation) FROM ${NETWORK_GENERATIONS} WHERE kind = 'actor')
      ) AS actor ON actor.one = address.one AND address.number >= actor.first
    ) GROUP BY severity
    SETTINGS ${INDEX_FOR_FEW}`,
  shards: {
    merge: (shards) => `SELECT severity, sum(addresses) AS addresses FROM ${shards} GROUP BY severity`,
  },
  params: z.object({ ...slice, ...blocks, ...worse, own: z.int() }),
  row: z.object({ severity: z.int(), addresses: z.int() }),
});

const addressSeverity = z.object({ source_ip: numberColumn, severity: numberColumn });
/** Columns of addresses and their severities. */
export type AddressSeverities = z.output<typeof addressSeverity>;

const WORSE_ROWS = `FROM ${SCOPE_TAGS} WHERE ${IN_SCOPES} AND ${IS_WORSE}`;
const severityRows = (rows: string) => `SELECT source_ip, severity FROM ${rows}`;

/**
 * Which of these severities each address had in the scopes but for the global dataset, of whatever tag: an address has
 * a row for each of its tags.
 * @param most the server refuses to read more rows: see {@link isRefused}.
 */
export const severitiesInOtherDatasets = (most: number) => {
  const rows = `SELECT source_ip, toUInt32(${SEVERITY}) AS severity ${WORSE_ROWS}`;
  const limited = (sql: string) => `${sql} SETTINGS max_rows_to_read = ${most}, read_overflow_mode = 'throw'`;
  return defineQuery({
    name: "tag-activity-severities",
    sql: limited(rows),
    shards: { perShard: rows, merge: (shards) => limited(severityRows(shards)) },
    params: z.object({ scopes: scopesParam, ...worse }),
    row: addressSeverity,
    format: "Native",
  });
};

/** The worst of them for each address that the tag had in the slice; those of `most` addresses. */
export const worstInOtherDatasets = (most: number) => {
  // The index cannot say which of the tags' addresses are among them.
  const limited = (sql: string) => `${sql} LIMIT ${most} SETTINGS use_index_for_in_with_subqueries = 0`;
  return defineQuery({
    name: "tag-activity-own-severities",
    sql: limited(`SELECT source_ip, toUInt32(max(${SEVERITY})) AS severity ${WORSE_ROWS} AND source_ip IN (${ACTIVE})
      GROUP BY source_ip`),
    shards: { merge: (shards) => limited(severityRows(shards)) },
    params: z.object({ ...slice, ...blocks, ...worse }),
    row: addressSeverity,
    format: "Native",
  });
};
