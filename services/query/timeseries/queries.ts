import { ATTACK_TAG, IS_ATTACK } from "@noisefloor/clickhouse/client/attack-sql.ts";
import { CONTACT_TAG } from "@noisefloor/clickhouse/client/contact-sql.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";
import { DETAIL_COLUMNS, detailsRow } from "../address/details-query.ts";
import type { BucketConditions } from "../conditions/compile-buckets.ts";
import { allRows, IN_SCOPES, inScopes, scopesParam } from "../scope-sql.ts";

/**
 * `from` and `end` in milliseconds since 1970 UTC, `start` and `width` in seconds. Buckets are numbered from `start`.
 */
const window = { scopes: scopesParam, from: z.int(), end: z.int(), start: z.int(), width: z.int() };
const params = z.object(window).catchall(z.unknown());
const BUCKET = "intDiv(toUnixTimestamp(observed_at) - {start:UInt32}, {width:UInt32})";
const IN_WINDOW = `observed_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
      AND observed_at < fromUnixTimestamp64Milli({end:Int64}, 'UTC')`;

/** Above this, ClickHouse groups on disk: there may be as many pairs of a bucket and an address as observations. */
const MAX_BYTES_IN_MEMORY = 512 * 1024 * 1024;
const SPILL = `SETTINGS max_bytes_before_external_group_by = ${MAX_BYTES_IN_MEMORY}`;

/** SQL: the pairs of a bucket and an address, as the number `ip`, that match. */
function matching({ values, columns, listed, matches, candidates, scopes }: BucketConditions): string {
  const isCandidate =
    candidates === undefined
      ? ""
      : `AND source_ip IN (SELECT toIPv4(arrayJoin(bitmapToArray(found))) FROM (${candidates}))`;
  return `SELECT bucket, ip FROM (
      ${values.length === 0 ? "" : `WITH ${values.join(", ")}`}
      SELECT ${[`${BUCKET} AS bucket`, "toUInt32(source_ip) AS ip", ...columns].join(", ")}
      FROM ${OBSERVATIONS} WHERE ${inScopes(scopes)} AND ${IN_WINDOW} ${isCandidate}
      GROUP BY source_ip, bucket
    ) AS grouped ${listed === undefined ? "" : `LEFT JOIN (${listed}) AS listed USING (ip)`} WHERE ${matches}`;
}

/** How many addresses match in each bucket, without empty buckets. */
export const countMatching = (search: BucketConditions) =>
  defineQuery({
    name: "timeseries-counts",
    sql: `SELECT bucket, count() AS count FROM (${matching(search)}) GROUP BY bucket ${SPILL}`,
    // All rows of an address are in one server's result.
    combine: (results) => `SELECT bucket, sum(count) AS count FROM ${results} GROUP BY bucket`,
    params,
    row: z.object({ bucket: z.int(), count: z.int() }),
  });

/** `limit` of the pairs of a bucket and an address that match, after the first `offset`, in order. */
export const listMatching = (search: BucketConditions) => {
  const rows = matching(search);
  const page = (from: string) =>
    `SELECT bucket, ip FROM ${from} ORDER BY bucket, ip LIMIT {limit:UInt32} OFFSET {offset:UInt32}`;
  return defineQuery({
    name: "timeseries-pairs",
    sql: `${page(`(${rows})`)} ${SPILL}`,
    perServer: `${rows} ORDER BY bucket, ip LIMIT {limit:UInt32} + {offset:UInt32} ${SPILL}`,
    combine: (results) => page(`(${allRows(results)})`),
    params: params.extend({ limit: z.int(), offset: z.int() }),
    row: z.object({ bucket: z.int(), ip: z.int() }),
  });
};

/**
 * What is known of addresses from their observations in single buckets: of pairs of a bucket, in the upper bits, and an
 * address, in the lower 32. For FINAL see the details of an address.
 */
export const bucketDetails = defineQuery({
  name: "timeseries-details",
  sql: `
    SELECT ${BUCKET} AS bucket, toUnixTimestamp64Milli(max(observed_at)) AS latest,
      groupUniqArrayArray(arrayConcat(tags, if(${IS_ATTACK}, [${ATTACK_TAG}], []),
        if(established, [${CONTACT_TAG}], []))) AS tag_ids, ${DETAIL_COLUMNS}
    FROM ${OBSERVATIONS} FINAL
    PREWHERE source_ip IN {ips:Array(IPv4)} AND ${IN_SCOPES} AND ${IN_WINDOW}
    WHERE bitShiftLeft(toUInt64(bucket), 32) + toUInt32(source_ip) IN {pairs:Array(UInt64)}
    GROUP BY bucket, source_ip
    SETTINGS do_not_merge_across_partitions_select_final = 1`,
  combine: allRows,
  params: z.object({ ...window, ips: z.array(z.string()), pairs: z.array(z.int()) }),
  row: detailsRow.extend({ bucket: z.int(), latest: z.int(), tag_ids: z.array(z.string()) }),
});
