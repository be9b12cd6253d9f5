import { severitySql } from "@noisefloor/clickhouse/client/attack-sql.ts";
import { numberColumn } from "@noisefloor/clickhouse/client/native.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import {
  NETWORK_GENERATIONS,
  NETWORK_RANGES,
  TAG_ACTIVITY_HOURLY,
  TAG_ADDRESSES,
} from "@noisefloor/clickhouse/client/table-names.ts";
import { DATASETS } from "@noisefloor/domain/access/scope.ts";
import { z } from "zod";
import { BLOCK_SECONDS, HOURS_PER_BLOCK } from "../address-sets/hour-blocks.ts";
import { IN_SCOPES, inScopes, inSeries, scopesParam } from "../scope-sql.ts";

/** Selects the hours of a tag. Times in seconds since 1970 UTC, all on the hour. */
export const slice = {
  tag: z.string(),
  scopes: scopesParam,
  /** Rows before this hour have expired; bucket numbers still count from `start`. */
  from: z.int(),
  end: z.int(),
};
/** Selects them, and numbers their buckets; see {@link BUCKET}. */
const grid = { ...slice, start: z.int(), width: z.int() };
/** The blocks of hours of the slice: the start of the first, and for each the bits of its hours in the slice. */
export const blocks = { first: z.int(), masks: z.array(z.bigint()).readonly() };

/** SQL: whether a row is of the slice. @param scopes how many there are. */
const inSlice = (scopes: number) => `tag_id = {tag:UUID} AND ${inScopes(scopes)}
      AND hour >= toDateTime({from:UInt32}, 'UTC') AND hour < toDateTime({end:UInt32}, 'UTC')`;
/** SQL: the number of the bucket that an hour is in, from 0 on; buckets are `width` seconds wide. */
const BUCKET = "intDiv(toUnixTimestamp(hour) - {start:UInt32}, {width:UInt32})";
const inBlocksOfHours = (rows: string) => `${rows}
      AND start >= toDateTime({first:UInt32}, 'UTC') AND start < toDateTime({end:UInt32}, 'UTC')`;
export const IN_BLOCKS_OF_HOURS = inBlocksOfHours(IN_SCOPES);
const IN_BLOCKS = inBlocksOfHours(inSeries(DATASETS.length));
/** Counts from 1, as array elements do. */
export const BLOCK = `(intDiv(toUnixTimestamp(start) - {first:UInt32}, ${BLOCK_SECONDS}) + 1)`;
const HOURS = `bitAnd(hours, {masks:Array(UInt64)}[${BLOCK}])`;

/**
 * To plan a PREWHERE takes 3 ms and saves nothing: the conditions are on the key of `tag_addresses`, or on the hours,
 * which nearly every row of the blocks meets.
 */
const WITHOUT_PREWHERE = "query_plan_optimize_prewhere = 0";

const bucketCount = z.object({ bucket: z.int(), active_ips: z.int() });

/** All rows of an address are in one server's result, so the numbers of distinct addresses add up. */
function addUpBuckets(results: string): string {
  return `SELECT bucket, sum(active_ips) AS active_ips FROM ${results} GROUP BY bucket`;
}

/**
 * Distinct addresses per bucket, numbered from 0, without empty buckets. `width` in seconds. Merges the sets of the
 * bucket's hours and scopes; for wide buckets see {@link countPerWideBucket}.
 * @param scopes how many there are.
 */
export const countPerBucket = (scopes: number) =>
  defineQuery({
    name: "tag-activity-counts",
    sql: `SELECT ${BUCKET} AS bucket, uniqExactMerge(addresses) AS active_ips
      FROM ${TAG_ACTIVITY_HOURLY} WHERE ${inSlice(scopes)} GROUP BY bucket`,
    combine: addUpBuckets,
    params: z.object(grid),
    row: bucketCount,
  });

/** The bits of an address's buckets must fit into a UInt128. */
export const MAX_WIDE_BUCKETS = 128;

const bitParams = z.object({
  ...slice,
  first: z.int(),
  firstBuckets: z.array(z.int()).readonly(),
  segments: z.array(z.array(z.bigint()).readonly()).readonly(),
});

/**
 * Distinct addresses per bucket, for up to {@link MAX_WIDE_BUCKETS} buckets. Each row says which buckets its hours are
 * in, as bits from the first bucket that its block touches; an address's rows together have the bits of all its
 * buckets.
 * @param segments how many buckets a block may touch.
 */
export const countPerWideBucket = (segments: number) => {
  const bits = Array.from(
    { length: segments },
    (_, segment) => `${2 ** segment} * (bitAnd(hours, {segments:Array(Array(UInt64))}[${segment + 1}][block]) != 0)`,
  );
  return defineQuery({
    name: "tag-activity-wide-counts",
    sql: `SELECT toUInt8(arrayJoin(bitPositionsToArray(bits))) AS bucket, count() AS active_ips
      FROM (
        SELECT source_ip, groupBitOr(bitShiftLeft(toUInt128(buckets), first_bucket)) AS bits
        FROM (
          SELECT source_ip, ${BLOCK} AS block, {firstBuckets:Array(UInt8)}[block] AS first_bucket,
            ${bits.join(" + ")} AS buckets
          FROM ${TAG_ADDRESSES} WHERE ${IN_BLOCKS}
        ) WHERE buckets != 0 GROUP BY source_ip
      ) GROUP BY bucket SETTINGS ${WITHOUT_PREWHERE}`,
    combine: addUpBuckets,
    params: bitParams,
    row: bucketCount,
  });
};

const rowsParams = z.object({ tag: slice.tag, scopes: slice.scopes, first: blocks.first, end: slice.end });
const activityRows = z.object({ source_ip: numberColumn, start: numberColumn, hours: numberColumn });

/**
 * The rows of the blocks that a slice touches, which have hours outside the slice, too.
 * @param maxRows the server refuses a slice of more rows before it reads any. It counts those of all granules that it
 *   would have to read.
 * @param scopes how many there are.
 */
export const readRows = ({ maxRows, scopes }: { readonly maxRows: number; readonly scopes: number }) => {
  const rows = `SELECT source_ip, start, hours FROM ${TAG_ADDRESSES}
    WHERE ${inBlocksOfHours(inSeries(scopes))}`;
  // The rows are few: to start a second thread for the index takes longer than to do its part.
  const limited = (sql: string) =>
    `${sql} SETTINGS max_rows_to_read = ${maxRows}, read_overflow_mode = 'throw', max_threads_for_indexes = 1,
      ${WITHOUT_PREWHERE}`;
  return defineQuery({
    name: "tag-activity-rows",
    sql: limited(rows),
    perServer: rows,
    combine: (results) => limited(`SELECT source_ip, start, hours FROM ${results}`),
    params: rowsParams,
    row: activityRows,
    format: "Native",
  });
};

const HASH = "intHash32(toUInt32(source_ip))";

/**
 * The rows with an hour whose threshold the address's hash value does not exceed. The hash value decides first, by the
 * highest threshold of the block, so that few rows are looked at hour by hour.
 * @param scopes how many there are.
 */
export const readRowsUpTo = (scopes: number) =>
  defineQuery({
    name: "tag-activity-lowest",
    sql: `SELECT source_ip, start, hours FROM ${TAG_ADDRESSES}
      PREWHERE ${HASH} <= {highest:Array(UInt32)}[${BLOCK}]
      WHERE ${inBlocksOfHours(inSeries(scopes))}
        AND arrayExists(hour -> ${HASH} <= {thresholds:Array(UInt32)}[(${BLOCK} - 1) * ${HOURS_PER_BLOCK} + hour + 1],
          bitPositionsToArray(hours))`,
    combine: (results) => `SELECT source_ip, start, hours FROM ${results}`,
    params: z.object({
      ...slice,
      first: blocks.first,
      highest: z.array(z.int()).readonly(),
      thresholds: z.array(z.int()).readonly(),
    }),
    row: activityRows,
    format: "Native",
  });

/** SQL: the addresses of a slice, each once for each of its rows. */
export const ACTIVE = `SELECT source_ip FROM ${TAG_ADDRESSES} WHERE ${IN_BLOCKS} AND ${HOURS} != 0`;

/** SQL to join to a table `address` with the columns `one` and `number`: those up to `actor.last` are of an actor. */
export const JOIN_ACTORS = `ASOF LEFT JOIN (
        SELECT 1 AS one, first, last FROM ${NETWORK_RANGES}
        WHERE kind = 'actor' AND generation = (SELECT max(generation) FROM ${NETWORK_GENERATIONS} WHERE kind = 'actor')
      ) AS actor ON actor.one = address.one AND address.number >= actor.first`;

/**
 * SQL: how many addresses have each severity.
 * @param worst SQL of distinct addresses, each as a `number` with its `worst` severity, -1 without tags, and whether it
 * `attacked`.
 */
export function countPerSeverity(worst: string): string {
  return `
    SELECT severity, count() AS addresses FROM (
      SELECT ${severitySql("address.worst", "address.number <= actor.last", "address.attacked")} AS severity
      FROM (SELECT 1 AS one, number, worst, attacked FROM (${worst})) AS address
      ${JOIN_ACTORS}
    ) GROUP BY severity`;
}

export const severityCount = z.object({ severity: z.int(), addresses: z.int() });

/** All rows of an address are in one server's result, so the numbers of distinct addresses add up. */
export function addUpSeverities(results: string): string {
  return `SELECT severity, sum(addresses) AS addresses FROM ${results} GROUP BY severity`;
}
