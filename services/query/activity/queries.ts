import type { NumberColumn } from "@noisefloor/clickhouse/client/native.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { TAG_ACTIVITY_HOURLY, TAG_ADDRESSES, TAG_SAMPLES } from "@noisefloor/clickhouse/client/table-names.ts";
import { DATASETS } from "@noisefloor/domain/access/scope.ts";
import { z } from "zod";
import { IN_SCOPES, inScopes, inSeries, scopesParam } from "../scope-sql.ts";
import { BLOCK_SECONDS } from "./hour-blocks.ts";

/** Selects the hours of a tag. Times in seconds since 1970 UTC, all on the hour. */
export const slice = {
  tag: z.string(),
  scopes: scopesParam,
  /** Rows before this hour have expired; bucket numbers still count from `start`. */
  from: z.int(),
  end: z.int(),
};
/** And numbers their buckets; see {@link BUCKET}. */
export const grid = { ...slice, start: z.int(), width: z.int() };
/** The blocks of hours of the slice: the start of the first, and for each the bits of its hours in the slice. */
export const blocks = { first: z.int(), masks: z.array(z.bigint()).readonly() };

/** SQL: whether a row is of the slice. @param scopes how many there are. */
export const inSlice = (scopes: number) => `tag_id = {tag:UUID} AND ${inScopes(scopes)}
      AND hour >= toDateTime({from:UInt32}, 'UTC') AND hour < toDateTime({end:UInt32}, 'UTC')`;
/** SQL: the number of the bucket that an hour is in, from 0 on; buckets are `width` seconds wide. */
export const BUCKET = "intDiv(toUnixTimestamp(hour) - {start:UInt32}, {width:UInt32})";
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
export type BucketCount = z.output<typeof bucketCount>;

/** An address is on one shard, so the shards' numbers of distinct addresses add up. */
function addUpBuckets(shards: string): string {
  return `SELECT bucket, sum(active_ips) AS active_ips FROM ${shards} GROUP BY bucket`;
}

/**
 * Distinct addresses per bucket, numbered from 0, without empty buckets. `width` in seconds. Merges the sets of the
 * bucket's hours and scopes; see {@link countPerBand}.
 * @param scopes how many there are.
 */
export const countPerBucket = (scopes: number) =>
  defineQuery({
    name: "tag-activity-counts",
    sql: `SELECT ${BUCKET} AS bucket, uniqExactMerge(addresses) AS active_ips
      FROM ${TAG_ACTIVITY_HOURLY} WHERE ${inSlice(scopes)} GROUP BY bucket`,
    shards: { merge: addUpBuckets },
    params: z.object(grid),
    row: bucketCount,
  });

/**
 * The same by bands of hash value: to join small sets takes a fifth to a half less CPU time than to merge those of
 * several hours or scopes. The more hours a bucket has, the longer it takes; see {@link countPerWideBucket}. `lowest`
 * is by bucket the hash value below which bands are skipped; of a bucket without one, all bands count.
 */
export const countPerBand = (scopes: number) =>
  defineQuery({
    name: "tag-activity-band-counts",
    sql: `SELECT bucket, sum(distinct_ips) AS active_ips FROM (
        SELECT ${BUCKET} AS bucket, hash_from, uniqExactArray(addresses) AS distinct_ips
        FROM ${TAG_SAMPLES} WHERE ${inSlice(scopes)} AND hash_from >= {lowest:Array(UInt32)}[${BUCKET} + 1]
        GROUP BY bucket, hash_from
      ) GROUP BY bucket`,
    shards: { merge: addUpBuckets },
    params: z.object({ ...grid, lowest: z.array(z.int()).readonly() }),
    row: bucketCount,
  });

/** The bits of an address's buckets must fit into a UInt128. */
export const MAX_WIDE_BUCKETS = 128;
/** For so few a narrower number does, which takes less time. */
const MAX_BUCKETS_IN_64_BITS = 64;

/** @param segments how many buckets a block may touch. */
type WideBuckets = { readonly buckets: number; readonly segments: number };

/**
 * SQL: each address with `bits` of its buckets. Each row says which buckets its hours are in, as bits from the first
 * bucket that its block touches; an address's rows together have the bits of all its buckets.
 */
function bitsPerAddress({ buckets, segments }: WideBuckets): string {
  const type = buckets <= MAX_BUCKETS_IN_64_BITS ? "UInt64" : "UInt128";
  const bits = Array.from(
    { length: segments },
    (_, place) => `${2 ** place} * (bitAnd(hours, {segments:Array(Array(UInt64))}[${place + 1}][block]) != 0)`,
  );
  return `SELECT source_ip, groupBitOr(bitShiftLeft(to${type}(buckets), first_bucket)) AS bits
    FROM (
      SELECT source_ip, ${BLOCK} AS block, {firstBuckets:Array(UInt8)}[block] AS first_bucket, ${bits.join(" + ")} AS buckets
      FROM ${TAG_ADDRESSES} WHERE ${IN_BLOCKS}
    ) WHERE buckets != 0 GROUP BY source_ip`;
}

const bitParams = z.object({
  ...slice,
  first: z.int(),
  firstBuckets: z.array(z.int()).readonly(),
  segments: z.array(z.array(z.bigint()).readonly()).readonly(),
});

/** The same for up to {@link MAX_WIDE_BUCKETS} buckets. */
export const countPerWideBucket = (wide: WideBuckets) =>
  defineQuery({
    name: "tag-activity-wide-counts",
    sql: `SELECT toUInt8(arrayJoin(bitPositionsToArray(bits))) AS bucket, count() AS active_ips
      FROM (${bitsPerAddress(wide)}) GROUP BY bucket SETTINGS ${WITHOUT_PREWHERE}`,
    shards: { merge: addUpBuckets },
    params: bitParams,
    row: bucketCount,
  });

export const numberColumn = z.custom<NumberColumn>((value) => value instanceof Uint32Array);

const addressBits = z.object({ source_ip: numberColumn, bits: numberColumn });
/** Columns of addresses and the bits of their buckets, two or four words each. */
export type AddressBits = z.output<typeof addressBits>;

/**
 * The bits themselves, for who counts them.
 * @param most the server refuses to answer with more addresses: see {@link isRefused}.
 */
export const readBits = ({ most, ...wide }: WideBuckets & { readonly most: number }) => {
  const bits = bitsPerAddress(wide);
  const limited = (sql: string) =>
    `${sql} SETTINGS max_rows_to_group_by = ${most}, group_by_overflow_mode = 'throw', max_result_rows = ${most},
      result_overflow_mode = 'throw', ${WITHOUT_PREWHERE}`;
  return defineQuery({
    name: "tag-activity-bits",
    sql: limited(bits),
    shards: { perShard: bits, merge: (shards) => limited(`SELECT source_ip, bits FROM ${shards}`) },
    params: bitParams,
    row: addressBits,
    format: "Native",
  });
};

const rowsParams = z.object({ tag: slice.tag, scopes: slice.scopes, first: blocks.first, end: slice.end });
const activityRows = z.object({ source_ip: numberColumn, start: numberColumn, hours: numberColumn });

/**
 * The rows of the blocks that a slice touches; hours outside of it are among theirs.
 * @param most the server refuses a slice of more rows before it reads any. It counts those of all granules that it
 *   would have to read.
 * @param scopes how many there are.
 */
export const readRows = ({ most, scopes }: { readonly most: number; readonly scopes: number }) => {
  const rows = `SELECT source_ip, start, hours FROM ${TAG_ADDRESSES}
    WHERE ${inBlocksOfHours(inSeries(scopes))}`;
  // The rows are few: to start a second thread for the index takes longer than to do its part.
  const limited = (sql: string) =>
    `${sql} SETTINGS max_rows_to_read = ${most}, read_overflow_mode = 'throw', max_threads_for_indexes = 1,
      ${WITHOUT_PREWHERE}`;
  return defineQuery({
    name: "tag-activity-rows",
    sql: limited(rows),
    shards: { perShard: rows, merge: (shards) => limited(`SELECT source_ip, start, hours FROM ${shards}`) },
    params: rowsParams,
    row: activityRows,
    format: "Native",
  });
};

/** SQL: the addresses of a slice, each as often as there are rows of it. */
export const ACTIVE = `SELECT source_ip FROM ${TAG_ADDRESSES} WHERE ${IN_BLOCKS} AND ${HOURS} != 0`;

/** Up to `cap` addresses of a slice: those with the lowest hash values and, where these are the same, the lowest. */
export const lowestAddresses = (cap: number) => {
  const lowest = (rows: string) =>
    `SELECT DISTINCT source_ip FROM ${rows} ORDER BY intHash32(toUInt32(source_ip)), source_ip LIMIT ${cap}`;
  return defineQuery({
    name: "tag-activity-lowest",
    sql: lowest(`(${ACTIVE})`),
    shards: { merge: lowest },
    params: z.object({ ...slice, ...blocks }),
    row: z.object({ source_ip: numberColumn }),
    format: "Native",
  });
};
