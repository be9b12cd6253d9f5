import { ATTACK } from "@noisefloor/domain/tags/attack.ts";
import { CONTACT } from "@noisefloor/domain/tags/contact.ts";
import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import { z } from "zod";
import {
  BLOCK,
  blockColumns,
  blockParams,
  blockParamsOf,
  IN_UNREAD_BLOCK,
  type KnownBlocks,
  selectBlocks,
  withBlocks,
} from "../changes/observation-changes.ts";
import { ATTACK_TAG, IS_ATTACK } from "../client/attack-sql.ts";
import type { ClickHouseClient } from "../client/connect.ts";
import { CONTACT_TAG } from "../client/contact-sql.ts";
import { numberColumn } from "../client/native.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { tablesIdentity } from "../client/store-identity.ts";
import { ADDRESS_TAGS, OBSERVATION_CHANGES } from "../client/table-names.ts";

/**
 * Addresses of the global dataset with the severity that they were seen with and the last time of that, as columns of
 * equal length: `severities` are 0 for "seen at all", {@link ATTACK} for an attack, {@link CONTACT} for proven contact,
 * else one more than the tag's intention in its enum; the time is `seconds` since 1970 UTC and `milliseconds` of them.
 * In order of the addresses, of each the highest severity first.
 */
const sightingColumns = z.object({
  addresses: numberColumn,
  severities: z.instanceof(Uint8Array),
  seconds: numberColumn,
  milliseconds: z.instanceof(Uint16Array),
});
export type SightingColumns = z.infer<typeof sightingColumns>;

/** What was added to `observation_changes` beside the known blocks, and what its severities depend on. */
export type SightingChanges = SightingColumns & {
  /** The blocks that were known and those that were read. */
  readonly blocks: KnownBlocks;
  /**
   * Changes when a tag comes, goes or changes its intention, and when a restore or a removal has exchanged the tables.
   */
  readonly version: string;
};

/** The tables that sightings are made of. */
export const SIGHTING_TABLES = ["address_tags", "observation_changes", "tags"] as const;

/** Goes before large queries: the index is used only while its polls succeed in time. */
const FOREGROUND = "SETTINGS priority = 1";

const COLUMNS = `groupArrayIf(address, is_global) AS addresses, groupArrayIf(severity, is_global) AS severities,
  groupArrayIf(toUInt32(intDiv(latest, 1000)), is_global) AS seconds,
  groupArrayIf(toUInt16(latest % 1000), is_global) AS milliseconds`;

/** Rows of a table by address and severity; a tag that is not in the catalogue says nothing but that it was seen. */
const bySeverity = (rows: string) => `
  SELECT toUInt32(source_ip) AS address,
    toUInt8(multiIf(seen.tag_id = ${ATTACK_TAG}, ${ATTACK}, seen.tag_id = ${CONTACT_TAG}, ${CONTACT},
      tag.is_known, toInt8(tag.intention) + 1, 0)) AS severity,
    toUInt64(toUnixTimestamp64Milli(max(last_seen))) AS latest, is_global,
    groupUniqArray(block) AS blocks
  FROM (${rows}) AS seen
  LEFT JOIN (SELECT id, intention, 1 AS is_known FROM tags FINAL) AS tag ON tag.id = seen.tag_id
  GROUP BY address, severity, is_global`;

const sightingCount = defineQuery({
  name: "address-tags-rows",
  sql: `SELECT count() AS count FROM ${ADDRESS_TAGS} ${FOREGROUND}`,
  params: z.object({}),
  row: z.object({ count: z.int() }),
});

/** How many rows `address_tags` has, of every dataset, those included that replace each other. */
export async function countSightings(client: ClickHouseClient): Promise<number> {
  return (await runForOne(client, sightingCount, {})).count;
}

const sightingsBetween = defineQuery({
  name: "address-tags-slice",
  sql: `SELECT ${COLUMNS} FROM (${bySeverity(`
    SELECT source_ip, tag_id, last_seen, 1 AS is_global, toUInt64(0) AS block FROM ${ADDRESS_TAGS}
    WHERE dataset = 'global' AND source_ip BETWEEN toIPv4({first:UInt32}) AND toIPv4({last:UInt32})
      AND last_seen >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')`)} ORDER BY address, severity DESC)`,
  params: z.object({ first: z.int(), last: z.int(), since: z.int() }),
  row: sightingColumns,
  format: "Native",
});

/**
 * What is known of the addresses from `first` to `last`, both inclusive, that were seen since a time in milliseconds.
 */
export const readSightingsBetween = (
  client: ClickHouseClient,
  slice: { readonly first: number; readonly last: number; readonly since: number },
): Promise<SightingColumns> => runForOne(client, sightingsBetween, slice);

const VERSION = `ifNull(concat((SELECT toString(groupBitXor(cityHash64(id, intention))) FROM tags FINAL), ' ',
  toString(${tablesIdentity(["address_tags", "observation_changes"])})), '')`;

/** The version of {@link SightingChanges}, without any. */
export const sightingsVersion = defineQuery({
  name: "sightings-version",
  sql: `SELECT ${VERSION} AS version ${FOREGROUND}`,
  params: z.object({}),
  row: z.object({ version: z.string() }),
});

export async function readSightingsVersion(client: ClickHouseClient): Promise<string> {
  return (await runForOne(client, sightingsVersion, {})).version;
}

/** SQL: the tags of an observation that `address_tags` has. */
const TAGS = `arrayConcat(tags, [toUUID('${NIL_TAG_ID}')], if(${IS_ATTACK}, [${ATTACK_TAG}], []),
  if(established, [${CONTACT_TAG}], []))`;

const sightingsAfter = defineQuery({
  name: "observation-changes",
  // The version is read first: when tags change meanwhile, the next call brings another one.
  sql: `
    SELECT ${VERSION} AS version, ${selectBlocks("groupUniqArrayArray(blocks)")}, ${COLUMNS}
    FROM (${bySeverity(`
      SELECT source_ip, arrayJoin(${TAGS}) AS tag_id, observed_at AS last_seen, dataset = 'global' AS is_global,
        ${BLOCK} AS block
      FROM ${OBSERVATION_CHANGES}
      WHERE ${IN_UNREAD_BLOCK}`)} ORDER BY address, severity DESC)
    ${FOREGROUND}`,
  params: blockParams,
  row: sightingColumns.extend({ version: z.tuple([z.string()]), ...blockColumns.shape }),
  format: "Native",
});

/** What `observation_changes` has in other blocks than the known ones. */
export async function readSightingsAfter(client: ClickHouseClient, blocksRead: KnownBlocks): Promise<SightingChanges> {
  const row = await runForOne(client, sightingsAfter, blockParamsOf(blocksRead));
  const { version, isInOrder, partitions, numbers, ...columns } = row;
  return { version: version[0], blocks: withBlocks(blocksRead, { isInOrder, partitions, numbers }), ...columns };
}
