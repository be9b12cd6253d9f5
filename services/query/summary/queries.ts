import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { TAG_ADDRESSES } from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";
import { BLOCK, IN_BLOCKS_OF_HOURS } from "../activity/queries.ts";
import { scopesParam } from "../scope-sql.ts";

/**
 * The distinct addresses of each tag in a window and in the one before it. Both are given by the bits of their hours in
 * the blocks from `first` to `end`; see `blocksOf`.
 */
export const countPerTag = defineQuery({
  name: "tag-summary",
  sql: `SELECT tag_id,
      uniqExactIf(source_ip, bitAnd(hours, {masks:Array(UInt64)}[${BLOCK}]) != 0) AS current,
      uniqExactIf(source_ip, bitAnd(hours, {previousMasks:Array(UInt64)}[${BLOCK}]) != 0) AS previous
    FROM ${TAG_ADDRESSES} WHERE ${IN_BLOCKS_OF_HOURS} GROUP BY tag_id`,
  combine: (results) => `SELECT tag_id, sum(result.current) AS current, sum(result.previous) AS previous
      FROM ${results} AS result GROUP BY tag_id`,
  params: z.object({
    scopes: scopesParam,
    first: z.int(),
    end: z.int(),
    masks: z.array(z.bigint()).readonly(),
    previousMasks: z.array(z.bigint()).readonly(),
  }),
  row: z.object({ tag_id: z.string(), current: z.int(), previous: z.int() }),
});
