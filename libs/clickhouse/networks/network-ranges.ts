import type { RangeBounds } from "@noisefloor/domain/address/ranges.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { numberColumn } from "../client/native.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { defineVersion } from "../records/define-records.ts";
import type { NetworkKind } from "./networks.ts";

/** The disjoint ranges of all lists of a kind in ascending order, both ends inclusive, as columns of equal length. */
export type RangeColumns = RangeBounds & {
  /** The list of each range, as an index in `listIds` counted from 1. */
  readonly list: Uint32Array;
  readonly listIds: readonly string[];
};

const ranges = defineQuery({
  name: "network-ranges",
  sql: `
    WITH (SELECT groupUniqArray(toString(list_id)) FROM network_ranges WHERE kind = {kind:String}) AS listIds
    SELECT listIds, groupArray(first) AS firsts, groupArray(last) AS lasts,
      groupArray(toUInt32(indexOf(listIds, toString(list_id)))) AS lists
    FROM (
      SELECT first, last, list_id FROM network_ranges FINAL
      WHERE kind = {kind:String}
        AND generation = (SELECT max(generation) FROM network_generations WHERE kind = {kind:String})
      ORDER BY first)`,
  params: z.object({ kind: z.string() }),
  row: z.object({
    listIds: z.array(z.string()),
    firsts: numberColumn,
    lasts: numberColumn,
    lists: numberColumn,
  }),
  format: "Native",
});

/** The ranges that answer at present. */
export async function readRanges(client: ClickHouseClient, kind: NetworkKind): Promise<RangeColumns> {
  const { listIds, firsts, lasts, lists } = await runForOne(client, ranges, { kind });
  return { listIds, first: firsts, last: lasts, list: lists };
}

/** Changes whenever a list, or which ranges answer, does. */
export const readNetworksVersion = defineVersion(["network_lists", "network_generations"]);
