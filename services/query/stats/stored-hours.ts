import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import { z } from "zod";
import { IN_SCOPES, scopesParam } from "../scope-sql.ts";

/** The first and the last hour with observations since an hour, in seconds since 1970 UTC; no row without any. */
export const storedHours = defineQuery({
  name: "stored-hours",
  sql: `SELECT toUnixTimestamp(min(hour)) AS first, toUnixTimestamp(max(hour)) AS last
    FROM tag_activity_hourly
    WHERE tag_id = toUUID('${NIL_TAG_ID}') AND ${IN_SCOPES} AND hour >= toDateTime({from:UInt32}, 'UTC')
    HAVING count() > 0`,
  shards: {
    merge: (shards) =>
      `SELECT min(shard.first) AS first, max(shard.last) AS last FROM ${shards} AS shard HAVING count() > 0`,
  },
  params: z.object({ scopes: scopesParam, from: z.int() }),
  row: z.object({ first: z.int(), last: z.int() }),
});
