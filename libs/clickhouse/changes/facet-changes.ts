import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { numberColumn } from "../client/native.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { tablesIdentity } from "../client/store-identity.ts";
import { OBSERVATION_CHANGES } from "../client/table-names.ts";
import type { MemberField } from "../facets/facet-members.ts";
import { FACETS } from "../facets/facets.ts";
import {
  BLOCK,
  blockColumns,
  blockParams,
  blockParamsOf,
  IN_UNREAD_BLOCK,
  type KnownBlocks,
  selectBlocks,
  withBlocks,
} from "./observation-changes.ts";

/** The tables that members are made of. */
export const FACET_TABLES = ["address_facets", "observation_changes"] as const;

/** SQL: changes when a restore or a removal has exchanged the tables. */
const VERSION = `ifNull(toString(${tablesIdentity(FACET_TABLES)}), '')`;

const facetsVersion = defineQuery({
  name: "facets-version",
  sql: `SELECT ${VERSION} AS version`,
  params: z.object({}),
  row: z.object({ version: z.string() }),
});

/** The version of {@link FacetChanges}, without any. */
export async function readFacetsVersion(client: ClickHouseClient): Promise<string> {
  return (await runForOne(client, facetsVersion, {})).version;
}

/** SQL: the values of a field over a row of the log. */
const valuesOf = (field: MemberField) =>
  field === "organization" ? `arrayMap(value -> lowerUTF8(substring(value, 12)), ${FACETS.network})` : FACETS[field];

/**
 * What was stored beside the known blocks: pairs of a dataset and a field, each with a value; how many addresses were
 * seen with it; these, and their times as in `FacetMembers`.
 */
export type FacetChanges = Omit<z.output<typeof changeColumns>, "version" | keyof typeof blockColumns.shape> & {
  /** The blocks that were known and those that were read. */
  readonly blocks: KnownBlocks;
  /** Changes when the tables are others. */
  readonly version: string;
};
const texts = z.array(z.string()).readonly();
const changeColumns = z.object({
  version: z.tuple([z.string()]),
  /** Like `global port`. */
  names: texts,
  values: texts,
  members: numberColumn,
  addresses: numberColumn,
  times: numberColumn,
  ...blockColumns.shape,
});

/**
 * Reads what some fields have in other blocks than the known ones.
 * @param seconds how long ago the oldest was stored. @param epoch in milliseconds since 1970 UTC.
 */
export async function readFacetChanges(
  client: ClickHouseClient,
  {
    fields,
    epoch,
    blocks,
    seconds,
  }: {
    readonly fields: readonly MemberField[];
    readonly epoch: number;
    readonly blocks: KnownBlocks;
    readonly seconds: number;
  },
): Promise<FacetChanges> {
  const changes = defineQuery({
    name: "facet-changes",
    // Rows of workspaces count as read, too: their blocks would be read again and again.
    sql: `SELECT ${VERSION} AS version, ${selectBlocks("groupUniqArrayArray(blocks)")},
        groupArrayIf(name, is_shared) AS names, groupArrayIf(value, is_shared) AS values,
        groupArrayIf(toUInt32(length(ips)), is_shared) AS members,
        groupArrayArrayIf(ips, is_shared) AS addresses, groupArrayArrayIf(latest, is_shared) AS times
      FROM (
        SELECT name, value, is_shared, groupArray(address) AS ips, groupArray(time) AS latest,
          groupUniqArrayArray(blocks) AS blocks
        FROM (
          SELECT concat(dataset, ' ', field) AS name, arrayJoin(texts) AS value, workspace_id = '' AS is_shared,
            toUInt32(source_ip) AS address,
            toUInt64(max(greatest(toUnixTimestamp64Milli(observed_at) - {epoch:Int64}, 0))) AS time,
            groupUniqArray(${BLOCK}) AS blocks
          FROM ${OBSERVATION_CHANGES}
          ARRAY JOIN [${fields.map((field) => `'${field}'`).join(", ")}] AS field,
            [${fields.map(valuesOf).join(", ")}] AS texts
          WHERE ${IN_UNREAD_BLOCK} AND stored_at >= now() - toIntervalSecond({seconds:UInt32})
          GROUP BY name, value, is_shared, address)
        GROUP BY name, value, is_shared)
      SETTINGS priority = 1`,
    params: blockParams.extend({ epoch: z.int(), seconds: z.int() }),
    row: changeColumns,
    format: "Native",
  });
  const row = await runForOne(client, changes, { ...blockParamsOf(blocks), epoch, seconds: Math.ceil(seconds) });
  const { version, isInOrder, partitions, numbers, ...columns } = row;
  return { version: version[0], blocks: withBlocks(blocks, { isInOrder, partitions, numbers }), ...columns };
}
