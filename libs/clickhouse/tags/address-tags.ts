import { ATTACK } from "@noisefloor/domain/tags/attack.ts";
import { z } from "zod";
import { ATTACK_TAG } from "../client/attack-sql.ts";
import type { ClickHouseClient } from "../client/connect.ts";
import { numberColumn, wideNumbers } from "../client/native.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { ADDRESS_CHANGES, ADDRESS_TAGS } from "../client/table-names.ts";
import { type KnownBlocks, withBlocks } from "./known-blocks.ts";

/**
 * Addresses of the global dataset with the severity that they were seen with and the last time of that, as columns of
 * equal length: `severities` are 0 for "seen at all", {@link ATTACK} for an attack, else one more than the tag's
 * intention in its enum; the time is `seconds` since 1970 UTC and `milliseconds` of them. In order of the addresses, of
 * each the highest severity first.
 */
const sightingColumns = z.object({
  addresses: numberColumn,
  severities: z.instanceof(Uint8Array),
  seconds: numberColumn,
  milliseconds: z.instanceof(Uint16Array),
});
export type SightingColumns = z.infer<typeof sightingColumns>;

/** What was added to `address_changes` beside the known blocks, and what its severities depend on. */
export type SightingChanges = SightingColumns & {
  /** The blocks that were known and those that were read. */
  readonly blocks: KnownBlocks;
  /**
   * Changes when a tag comes, goes or changes its intention, and when a restore or a removal has exchanged the tables.
   */
  readonly version: string;
};

/** The tables that sightings are made of. */
export const SIGHTING_TABLES = ["address_tags", "address_changes", "tags"] as const;

/** Goes before large queries: the index is used only while its polls succeed in time. */
const FOREGROUND = "SETTINGS priority = 1";

const COLUMNS = `groupArray(address) AS addresses, groupArray(severity) AS severities,
  groupArray(toUInt32(intDiv(latest, 1000))) AS seconds, groupArray(toUInt16(latest % 1000)) AS milliseconds`;

/** Rows of a table by address and severity; a tag that is not in the catalogue says nothing but that it was seen. */
const bySeverity = (rows: string) => `
  SELECT toUInt32(source_ip) AS address,
    toUInt8(multiIf(seen.tag_id = ${ATTACK_TAG}, ${ATTACK}, tag.is_known, toInt8(tag.intention) + 1, 0)) AS severity,
    toUInt64(toUnixTimestamp64Milli(max(last_seen))) AS latest,
    groupUniqArray(block) AS blocks
  FROM (${rows}) AS seen
  LEFT JOIN (SELECT id, intention, 1 AS is_known FROM tags FINAL) AS tag ON tag.id = seen.tag_id
  GROUP BY address, severity`;

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
    SELECT source_ip, tag_id, last_seen, toUInt64(0) AS block FROM ${ADDRESS_TAGS}
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

/** Replicas have different UUIDs and the same path in Keeper, the first text of the engine's definition. */
const VERSION = `ifNull(concat(
  (SELECT toString(groupBitXor(cityHash64(id, intention))) FROM tags FINAL), ' ',
  (SELECT toString(groupBitXor(cityHash64(name, if(engine LIKE 'Replicated%', extract(engine_full, '\\'([^\\']+)\\''),
      toString(uuid))))) FROM system.tables
    WHERE database = currentDatabase() AND name IN ('address_tags', 'address_changes'))), '')`;

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

/** SQL: the number of a partition, and of a part's. */
const PARTITION = "intDiv(toUnixTimestamp(stored_at), 300)";
const PARTITION_OF_PART = "intDiv(toUnixTimestamp(parseDateTimeBestEffort(splitByChar('_', _part)[1], 'UTC')), 300)";
/** Bits of the block in a number that has a partition and a block. */
const BLOCK_BITS = 40;

// A part's name states its last block, so that parts without a newer one are not read: under a full intake the table
// has fifty million rows.
const lastOf = (partition: string) => `transform(${partition}, {partitions:Array(UInt32)}, {upTo:Array(Int64)}, -1)`;

const sightingsAfter = defineQuery({
  name: "address-changes",
  // The version is read first: when tags change meanwhile, the next call brings another one.
  sql: `
    SELECT ${VERSION} AS version,
      ifNull((SELECT toUInt32(engine NOT LIKE 'Replicated%') FROM system.tables
        WHERE database = currentDatabase() AND name = 'address_changes'), 0) AS isInOrder,
      arrayMap(number -> toUInt32(bitShiftRight(number, ${BLOCK_BITS})), groupUniqArrayArray(blocks) AS read) AS partitions,
      arrayMap(number -> bitAnd(number, ${2 ** BLOCK_BITS - 1}), read) AS numbers,
      ${COLUMNS}
    FROM (${bySeverity(`
      SELECT source_ip, tag_id, last_seen,
        bitShiftLeft(toUInt64(${PARTITION}), ${BLOCK_BITS}) + _block_number AS block
      FROM ${ADDRESS_CHANGES}
      WHERE toInt64(_block_number) > ${lastOf(PARTITION)}
        AND toInt64(splitByChar('_', _part)[3]) > ${lastOf(PARTITION_OF_PART)}
        AND NOT has({others:Array(UInt64)}, block)`)} ORDER BY address, severity DESC)
    ${FOREGROUND}`,
  params: z.object({ partitions: z.array(z.int()), upTo: z.array(z.int()), others: z.array(z.bigint()) }),
  row: sightingColumns.extend({
    version: z.tuple([z.string()]),
    isInOrder: numberColumn,
    partitions: numberColumn,
    numbers: wideNumbers,
  }),
  format: "Native",
});

/** What `address_changes` has in other blocks than the known ones. */
export async function readSightingsAfter(client: ClickHouseClient, blocksRead: KnownBlocks): Promise<SightingChanges> {
  const row = await runForOne(client, sightingsAfter, toParams(blocksRead));
  const { version, isInOrder, partitions, numbers, ...columns } = row;
  const blocks = withBlocks(blocksRead, { partitions, numbers, isInOrder: isInOrder[0] === 1 });
  return { version: version[0], blocks, ...columns };
}

function toParams(blocksRead: KnownBlocks) {
  const others = [...blocksRead].flatMap(([partition, { others }]) =>
    others.map((number) => BigInt(partition) * 2n ** BigInt(BLOCK_BITS) + BigInt(number)),
  );
  // ClickHouse's `transform` takes no empty arrays.
  const all = blocksRead.size === 0 ? [[0, { upTo: -1 }] as const] : [...blocksRead];
  return { partitions: all.map(([partition]) => partition), upTo: all.map(([, { upTo }]) => upTo), others };
}
