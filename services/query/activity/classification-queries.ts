import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import {
  ADDRESS_TAGS,
  NETWORK_GENERATIONS,
  NETWORK_RANGES,
  SCOPE_TAGS,
} from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";
import { IN_SCOPES } from "../scope-sql.ts";
import { ACTIVE, blocks, numberColumn, slice } from "./queries.ts";

/** The number of distinct addresses of the whole slice. */
export const countAddresses = defineQuery({
  name: "tag-activity-total",
  sql: `SELECT uniqExact(source_ip) AS addresses FROM (${ACTIVE})`,
  shards: { merge: (shards) => `SELECT sum(addresses) AS addresses FROM ${shards}` },
  params: z.object({ ...slice, ...blocks }),
  row: z.object({ addresses: z.int() }),
});

/** The same addresses, up to `max` of them. */
export const listAddresses = (max: number) => {
  const distinct = (rows: string) => `SELECT DISTINCT source_ip FROM ${rows} LIMIT ${max}`;
  return defineQuery({
    name: "tag-activity-addresses",
    sql: distinct(`(${ACTIVE})`),
    shards: { merge: distinct },
    params: z.object({ ...slice, ...blocks }),
    row: z.object({ source_ip: numberColumn }),
    format: "Native",
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

/**
 * The worst of them that each address of the slice had in the scopes but for the global dataset, whose severities the
 * index in memory has; those of up to `max` addresses.
 */
export const worstInOtherDatasets = (max: number) => {
  // The table's key cannot say which of the tags' addresses are among them.
  const limited = (sql: string) => `${sql} LIMIT ${max} SETTINGS use_index_for_in_with_subqueries = 0`;
  return defineQuery({
    name: "tag-activity-severities",
    sql: limited(`SELECT source_ip, toUInt32(max(${SEVERITY})) AS severity FROM ${SCOPE_TAGS}
      WHERE ${IN_SCOPES} AND ${IS_WORSE} AND source_ip IN (${ACTIVE}) GROUP BY source_ip`),
    shards: { merge: (shards) => limited(`SELECT source_ip, severity FROM ${shards}`) },
    params: z.object({ ...slice, ...blocks, ...worse }),
    row: addressSeverity,
    format: "Native",
  });
};
