import { type ColumnQuery, type RowReader, readColumns } from "../client/columns.ts";
import type { ClickHouseClient } from "../client/connect.ts";

/**
 * Addresses of the global dataset with the severity that they were seen with and the last time of that, as columns of
 * equal length: `severities` are 0 for "seen at all", else one more than the tag's intention in its enum; the time is
 * `seconds` since 1970 UTC and `milliseconds` of them. In order of the addresses, of each the highest severity first.
 */
export type SightingColumns = {
  readonly addresses: Uint32Array;
  readonly severities: Uint8Array;
  readonly seconds: Uint32Array;
  readonly milliseconds: Uint16Array;
};

/** What was added since a block of the table `address_changes`, and what the severities in it depend on. */
export type SightingChanges = SightingColumns & {
  /** The last block that was read; 0 when there was none. */
  readonly lastBlock: number;
  /** Changes when a tag comes, goes or changes its intention, and when a restore or a removal has exchanged the tables. */
  readonly version: string;
};

/** Goes before large queries: the index is used only while its polls succeed in time. */
const FOREGROUND = { priority: "1", readonly: "2" };

const COLUMNS = `
  groupArray(address), groupArray(severity), groupArray(toUInt32(intDiv(latest, 1000))), groupArray(toUInt16(latest % 1000))`;

/** Rows of a table by address and severity; a tag that is not in the catalogue says nothing but that it was seen. */
const bySeverity = (rows: string) => `
  SELECT toUInt32(source_ip) AS address, toUInt8(if(tag.is_known, toInt8(tag.intention) + 1, 0)) AS severity,
    toUInt64(toUnixTimestamp64Milli(max(last_seen))) AS latest, max(block) AS last_block
  FROM (${rows}) AS seen
  LEFT JOIN (SELECT id, intention, 1 AS is_known FROM tags FINAL) AS tag ON tag.id = seen.tag_id
  GROUP BY address, severity`;

function readSightings(row: RowReader): SightingColumns {
  return { addresses: row.uint32s(), severities: row.uint8s(), seconds: row.uint32s(), milliseconds: row.uint16s() };
}

const ROWS: ColumnQuery = { name: "address-tags-rows", sql: "SELECT count() FROM address_tags", settings: FOREGROUND };

/** How many rows `address_tags` has, of every dataset, those included that replace each other. */
export function countSightings(client: ClickHouseClient): Promise<number> {
  return readColumns(client, ROWS, (row) => row.uint64());
}

/**
 * What is known of the addresses from `first` to `last`, both inclusive, that were seen since a time in milliseconds.
 */
export function readSightingsBetween(
  client: ClickHouseClient,
  { first, last, since }: { readonly first: number; readonly last: number; readonly since: number },
): Promise<SightingColumns> {
  const rows = `
    SELECT source_ip, tag_id, last_seen, 0 AS block FROM address_tags
    WHERE dataset = 'global' AND source_ip BETWEEN toIPv4({first:UInt32}) AND toIPv4({last:UInt32})
      AND last_seen >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')`;
  const query = {
    name: "address-tags-slice",
    sql: `SELECT ${COLUMNS} FROM (${bySeverity(rows)} ORDER BY address, severity DESC)`,
    params: { first, last, since },
    settings: { readonly: "2" },
  };
  return readColumns(client, query, readSightings);
}

/** What was stored after a block of `address_changes`; everything that it still holds after block 0. */
export function readSightingsAfter(client: ClickHouseClient, block: number): Promise<SightingChanges> {
  // The version is read first: when tags change meanwhile, the next call brings another one. A part's name states its
  // last block, so that parts without a newer one are not read: under a full intake the table has fifty million rows.
  const rows = `
    SELECT source_ip, tag_id, last_seen, _block_number AS block FROM address_changes
    WHERE _block_number > {block:UInt64} AND toUInt64(splitByChar('_', _part)[3]) > {block:UInt64}`;
  const query = {
    name: "address-changes",
    sql: `
      SELECT
        ifNull(concat(
          (SELECT toString(groupBitXor(cityHash64(id, intention))) FROM tags FINAL), ' ',
          (SELECT toString(groupBitXor(cityHash64(name, uuid))) FROM system.tables
            WHERE database = currentDatabase() AND name IN ('address_tags', 'address_changes'))), ''),
        toUInt64(max(last_block)), ${COLUMNS}
      FROM (${bySeverity(rows)} ORDER BY address, severity DESC)`,
    params: { block },
    settings: FOREGROUND,
  };
  return readColumns(client, query, (row) => {
    const version = row.string();
    const lastBlock = row.uint64();
    return { version, lastBlock, ...readSightings(row) };
  });
}
