import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import { IN_SCOPES, scopesParam } from "../scope-sql.ts";

/** Selects the rows of a tag. Times in seconds since 1970 UTC, all on the hour. */
const slice = {
  tag: z.string(),
  scopes: scopesParam,
  /** Rows before this hour have expired; bucket numbers still count from `start`. */
  from: z.int(),
  end: z.int(),
};

const IN_SLICE = `tag_id = {tag:UUID} AND ${IN_SCOPES}
      AND hour >= toDateTime({from:UInt32}, 'UTC') AND hour < toDateTime({end:UInt32}, 'UTC')`;

const BUCKET = "intDiv(toUnixTimestamp(hour) - {start:UInt32}, {width:UInt32})";

/** Distinct addresses per bucket, numbered from 0, without empty buckets. `width` in seconds. */
export const countPerBucket = defineQuery({
  name: "tag-activity-counts",
  sql: `SELECT ${BUCKET} AS bucket, uniqExactMerge(addresses) AS active_ips
    FROM tag_activity_hourly WHERE ${IN_SLICE} GROUP BY bucket`,
  params: z.object({ ...slice, start: z.int(), width: z.int() }),
  row: z.object({ bucket: z.int(), active_ips: z.int() }),
});

/**
 * Up to `cap` addresses per bucket: those with the lowest hash values, ascending numerically. Skips hashes above the
 * bucket's threshold, which makes a large bucket as cheap as a small one. `found` is the number of addresses up to the
 * threshold, at most cap + 1. `ips` are separated by commas: an answer has up to two million addresses, and a string
 * for each would cost more than all queries.
 */
export const samplePerBucket = (cap: number) =>
  defineQuery({
    name: "tag-activity-sample",
    sql: `SELECT bucket, length(lowest) AS found,
        arrayStringConcat(arrayMap(ip -> toString(ip), arraySort(arrayMap(x -> x.2, arraySlice(lowest, 1, ${cap})))), ',') AS ips
      FROM (
        SELECT bucket, groupArraySorted(${cap + 1})((intHash32(toUInt32(source_ip)), source_ip)) AS lowest
        FROM (
          SELECT DISTINCT ${BUCKET} AS bucket, source_ip FROM tag_addresses_hourly
          WHERE ${IN_SLICE} AND intHash32(toUInt32(source_ip)) <= {thresholds:Array(UInt32)}[bucket + 1]
        ) GROUP BY bucket
      )`,
    params: z.object({ ...slice, start: z.int(), width: z.int(), thresholds: z.array(z.int()) }),
    row: z.object({ bucket: z.int(), found: z.int(), ips: z.string() }),
  });

/**
 * The distinct addresses of the whole slice by classification, as its severity: the worst of all tags that an address
 * had in these scopes since `since` (milliseconds), or benign for the address of a known actor.
 */
export const countByClassification = defineQuery({
  name: "tag-activity-classification",
  sql: `
    SELECT severity, count() AS addresses FROM (
      SELECT if(address.number <= actor.last, 0, address.worst) AS severity
      FROM (
        SELECT 1 AS one, toUInt32(source_ip) AS number, max(toInt8(tag.intention)) AS worst
        FROM (
          SELECT source_ip, tag_id FROM address_tags
          WHERE ${IN_SCOPES}
            AND source_ip IN (SELECT source_ip FROM tag_addresses_hourly WHERE ${IN_SLICE})
          GROUP BY source_ip, tag_id
          HAVING max(last_seen) >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
        ) AS seen_with
        INNER JOIN (SELECT id, intention FROM tags FINAL) AS tag ON tag.id = seen_with.tag_id
        GROUP BY source_ip
      ) AS address
      ASOF LEFT JOIN (
        SELECT 1 AS one, first, last FROM network_ranges
        WHERE kind = 'actor' AND generation = (SELECT max(generation) FROM network_generations WHERE kind = 'actor')
      ) AS actor ON actor.one = address.one AND address.number >= actor.first
    ) GROUP BY severity`,
  params: z.object({ ...slice, since: z.int() }),
  row: z.object({ severity: z.int(), addresses: z.int() }),
});
