import type { Dataset } from "@noisefloor/domain/access/scope.ts";
import { isFewValued } from "@noisefloor/domain/observation/members.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { numberColumn } from "../client/native.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { ADDRESS_FACETS } from "../client/table-names.ts";
import type { FacetField, ValueField } from "./facets.ts";

/** A field of `address_facets`, or an organization without its number and in lower case, as a search compares it. */
export type MemberField = FacetField | "organization";

/** Fields of few values have no rows there. */
export const isMemberField = (field: ValueField | "organization"): field is MemberField =>
  field === "organization" || !isFewValued(field);

/** The members of a field: of every dataset that has no workspaces. */
export type FieldOfDataset = { readonly dataset: Exclude<Dataset, "personal">; readonly field: MemberField };

/**
 * Some values of a field in the order of their bytes, how many addresses each has, these as numbers in their order, and
 * when each was last seen with the value: milliseconds since an epoch, in two numbers each, the lower bits first.
 */
export type FacetMembers = z.output<typeof memberColumns>;
const memberColumns = z.object({
  value: z.array(z.string()).readonly(),
  members: numberColumn,
  addresses: numberColumn,
  times: numberColumn,
});

const ORGANIZATION = "lowerUTF8(substring(value, 12))";
const storedAs = (field: MemberField) => (field === "organization" ? "network" : field);
const valueSql = (field: MemberField) => (field === "organization" ? ORGANIZATION : "value");

const rowsOf = (
  field: MemberField,
  final = "",
) => `${ADDRESS_FACETS} ${final} WHERE dataset = {dataset:String} AND workspace_id = ''
  AND field = '${storedAs(field)}' AND last_seen >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')`;
const rowsParams = z.object({ dataset: z.string(), since: z.int() });

/** Without a priority: with a low one, callers who ask one question after the other would keep it from ever ending. */
const BACKGROUND = "SETTINGS max_threads = 1";

const memberCount = (field: MemberField) =>
  defineQuery({
    name: "facet-members-count",
    sql: `SELECT count() AS count FROM ${rowsOf(field)} ${BACKGROUND}`,
    params: rowsParams,
    row: z.object({ count: z.int() }),
  });

/** How many rows a field has, those included that merges will make one of. */
export async function countMembers(client: ClickHouseClient, of: FieldOfDataset, since: number): Promise<number> {
  return (await runForOne(client, memberCount(of.field), { dataset: of.dataset, since })).count;
}

/** Reads the members of a field that were seen since a time. @param epoch in milliseconds since 1970 UTC, as `since`. */
export async function readMembers(
  client: ClickHouseClient,
  { dataset, field }: FieldOfDataset,
  { since, epoch }: { readonly since: number; readonly epoch: number },
  onBlock: (members: FacetMembers) => Promise<void>,
): Promise<void> {
  const members = defineQuery({
    name: "facet-members",
    // FINAL: the rows come in the order of the key, and so each group as it ends, in a quarter of the time.
    sql: `SELECT text AS value, toUInt32(length(addresses)) AS members, addresses, times FROM (
        SELECT text, groupArray(toUInt32(source_ip)) AS addresses,
          groupArray(toUInt64(toUnixTimestamp64Milli(last_seen) - {epoch:Int64})) AS times
        FROM (SELECT ${valueSql(field)} AS text, source_ip, last_seen FROM ${rowsOf(field, "FINAL")}
          ORDER BY ${field === "organization" ? "text" : "value"}, source_ip)
        GROUP BY text)
      ORDER BY text ${BACKGROUND}, optimize_aggregation_in_order = 1`,
    params: rowsParams.extend({ epoch: z.int() }),
    row: memberColumns,
    format: "Native",
    onBlock,
  });
  await run(client, members, { dataset, since, epoch });
}

const seenAddresses = defineQuery({
  name: "facet-addresses",
  sql: `SELECT DISTINCT toUInt32(source_ip) AS address FROM ${ADDRESS_FACETS}
    WHERE dataset IN {datasets:Array(String)} AND workspace_id = '' AND field = 'seen'
      AND last_seen >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    ORDER BY address ${BACKGROUND}`,
  params: z.object({ datasets: z.array(z.string()), since: z.int() }),
  row: z.object({ address: numberColumn }),
  format: "Native",
});

/** All addresses that were seen in some datasets since a time, as numbers, ascending. */
export async function readSeenAddresses(
  client: ClickHouseClient,
  datasets: readonly Dataset[],
  since: number,
): Promise<Uint32Array> {
  const blocks = await run(client, seenAddresses, { datasets: [...datasets], since });
  const addresses = new Uint32Array(blocks.reduce((sum, { address }) => sum + address.length, 0));
  let at = 0;
  for (const { address } of blocks) {
    addresses.set(address, at);
    at += address.length;
  }
  return addresses;
}
