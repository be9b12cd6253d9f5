import { ArrayColumn } from "@noisefloor/clickhouse/client/native.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { TAG_SAMPLES } from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";
import { BUCKET, grid, inSlice, numberColumn } from "../queries.ts";

const sampleSizes = z.object({
  bucket: numberColumn,
  hash_from: numberColumn,
  largest: numberColumn,
  together: numberColumn,
});
/**
 * Columns by bucket and by the lowest hash value of rows of `tag_samples`: how many addresses the largest of these rows
 * has, and all of them together, in which the same one may come repeatedly.
 */
export type SampleSizes = z.output<typeof sampleSizes>;

/** @param scopes how many there are. */
export const readSampleSizes = (scopes: number) =>
  defineQuery({
    name: "tag-activity-sample-sizes",
    sql: `SELECT toUInt32(${BUCKET}) AS bucket, hash_from, toUInt32(max(length(addresses))) AS largest,
        toUInt32(least(sum(length(addresses)), ${0xffff_ffff})) AS together
      FROM ${TAG_SAMPLES} WHERE ${inSlice(scopes)} GROUP BY bucket, hash_from`,
    shards: {
      // An address is on one shard: so many are in the rows at least.
      merge: (shards) => `SELECT bucket, hash_from, toUInt32(sum(shard.largest)) AS largest,
          toUInt32(least(sum(shard.together), ${0xffff_ffff})) AS together
        FROM ${shards} AS shard GROUP BY bucket, hash_from`,
    },
    params: z.object(grid),
    row: sampleSizes,
    format: "Native",
  });

const sampleRows = z.object({ hash_from: numberColumn, hour: numberColumn, addresses: z.instanceof(ArrayColumn) });
/** Columns of rows of `tag_samples`. Several may be of the same hour and hash values. */
export type SampleRows = z.output<typeof sampleRows>;

/**
 * The rows of each bucket that begin with hash values up to its threshold. It skips the others, which makes large
 * buckets as cheap as small ones. `highest` is the highest of the `thresholds`.
 * @param scopes how many there are.
 */
export const readSamples = (scopes: number) =>
  defineQuery({
    name: "tag-activity-samples",
    sql: `SELECT hash_from, hour, addresses FROM ${TAG_SAMPLES}
      WHERE ${inSlice(scopes)} AND hash_from <= {highest:UInt32}
        AND hash_from <= {thresholds:Array(UInt32)}[${BUCKET} + 1]`,
    shards: { merge: (shards) => `SELECT hash_from, hour, addresses FROM ${shards}` },
    params: z.object({ ...grid, highest: z.int(), thresholds: z.array(z.int()).readonly() }),
    row: sampleRows,
    format: "Native",
  });
