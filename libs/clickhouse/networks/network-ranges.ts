import type { RangeBounds } from "@noisefloor/domain/address/ranges.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { numberColumn } from "../client/native.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import type { NetworkKind } from "./networks.ts";

/** The disjoint ranges of all lists of a kind in ascending order, both ends inclusive, as columns of equal length. */
export type RangeColumns = RangeBounds & {
  /** Whose the range is, as a place in `listIds` counted from 1. */
  readonly list: Uint32Array;
  readonly listIds: readonly string[];
};

/** What a list says of the addresses in its networks. */
export type ListDescription = z.output<(typeof descriptions)["row"]>;

const descriptions = defineQuery({
  name: "network-list-descriptions",
  sql: `SELECT list_id AS listId, name, category, description, explanation, reference, trust_level AS trustLevel,
      toUnixTimestamp64Milli(refreshed_at) AS refreshedAt
    FROM network_lists FINAL WHERE kind = {kind:String}`,
  params: z.object({ kind: z.string() }),
  row: z.object({
    listId: z.string(),
    name: z.string(),
    category: z.string(),
    description: z.string(),
    explanation: z.string(),
    reference: z.string(),
    trustLevel: z.string(),
    /** When it was imported last, in milliseconds since 1970 UTC. */
    refreshedAt: z.int(),
  }),
});

export const readListDescriptions = (client: ClickHouseClient, kind: NetworkKind): Promise<ListDescription[]> =>
  run(client, descriptions, { kind });

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

const networksVersion = defineQuery({
  name: "networks-version",
  sql: `SELECT concat(
      toString((SELECT groupBitXor(cityHash64(kind, max_generation)) FROM (
        SELECT kind, max(generation) AS max_generation FROM network_generations GROUP BY kind))), ' ',
      toString((SELECT groupBitXor(cityHash64(kind, list_id, generation, refreshed_at)) FROM network_lists FINAL))
    ) AS version`,
  params: z.object({}),
  row: z.object({ version: z.string() }),
});

/** Changes whenever a list, or which ranges answer, does. */
export async function readNetworksVersion(client: ClickHouseClient): Promise<string> {
  return (await runForOne(client, networksVersion, {})).version;
}
