import { ClickHouseError } from "@clickhouse/client";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { isTransient, isUnknownTable, StoreError } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";
import { literal } from "../client/sql-text.ts";
import { OWN_DATABASE, rowsOf } from "../client/table-names.ts";
import { AGEING_TABLES, SPREAD_TABLES } from "../schema/tables.ts";
import { parseRetention } from "./retention.ts";

export type TableStatistics = {
  readonly table: string;
  /** As on disk: rows that replace each other count until the server merges them. */
  readonly rows: number;
  readonly bytesOnDisk: number;
  /**
   * The oldest and newest time, in milliseconds since 1970 UTC; undefined in a table that is empty or does not age, and
   * when the server may not read so much.
   */
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** Undefined when rows are kept for ever. */
  readonly retentionDays: number | undefined;
};

const tableSizes = defineQuery({
  name: "table-sizes",
  sql: `SELECT name, create_table_query AS definition, ifNull(total_rows, 0) AS rows, ifNull(total_bytes, 0) AS bytes
    FROM system.tables WHERE database = ${OWN_DATABASE} AND engine LIKE '%MergeTree' ORDER BY name`,
  // Every server has all rows of other tables.
  combine: (results) => `
      SELECT name, any(result.definition) AS definition,
        if(name IN (${SPREAD_TABLES.map(literal).join(", ")}), sum(result.rows), max(result.rows)) AS rows,
        sum(result.bytes) AS bytes
      FROM ${results} AS result GROUP BY name ORDER BY name`,
  params: z.object({}),
  row: z.object({ name: z.string(), definition: z.string(), rows: z.int(), bytes: z.int() }),
});

const timeSpans = defineQuery({
  name: "table-time-spans",
  sql: AGEING_TABLES.map(
    ({ name, time }) => `SELECT '${name}' AS name, count() AS rows,
        toUnixTimestamp64Milli(toDateTime64(min(${time}), 3, 'UTC')) AS oldest,
        toUnixTimestamp64Milli(toDateTime64(max(${time}), 3, 'UTC')) AS newest FROM ${rowsOf(name)}`,
  ).join(" UNION ALL "),
  params: z.object({}),
  row: z.object({ name: z.string(), rows: z.int(), oldest: z.int(), newest: z.int() }),
});

/** What every table in the database holds and for how long, by name. */
export async function readTableStatistics(client: ClickHouseClient): Promise<TableStatistics[]> {
  const spans = new Map((await unlessOverLimit(run(client, timeSpans, {})))?.map((span) => [span.name, span]));
  return (await run(client, tableSizes, {})).map(({ name, definition, rows, bytes }) => {
    const span = spans.get(name);
    const isEmpty = span === undefined || span.rows === 0;
    return {
      table: name,
      rows,
      bytesOnDisk: bytes,
      from: isEmpty ? undefined : span.oldest,
      to: isEmpty ? undefined : span.newest,
      retentionDays: parseRetention(definition),
    };
  });
}

/**
 * How many rows of each ageing table are older than `days` days now. The server reads only partitions that hold both
 * older and newer rows. @returns undefined when the server may not read so much, or not for so long.
 */
export async function countOlderRows(client: ClickHouseClient, days: number): Promise<Map<string, number> | undefined> {
  if (!Number.isInteger(days) || days < 1) throw new RangeError(`${days} is not a whole number of days from 1`);
  const olderRows = defineQuery({
    name: "rows-beyond-retention",
    sql: AGEING_TABLES.map(
      ({ name, ttl }) => `SELECT '${name}' AS name, count() AS rows FROM ${rowsOf(name)} WHERE ${ttl(days)} <= now()`,
    ).join(" UNION ALL "),
    params: z.object({}),
    row: z.object({ name: z.string(), rows: z.int() }),
  });
  const counted = await unlessOverLimit(run(client, olderRows, {}));
  return counted && new Map(counted.map(({ name, rows }) => [name, rows]));
}

/** A large store's count may exceed the server's limits; the caller shows its other numbers all the same. */
export async function unlessOverLimit<T>(answer: Promise<T>): Promise<T | undefined> {
  return answer.catch((error: unknown) => {
    if (isUnknownTable(error) && error instanceof Error) throw new StoreError(`a table is lost: ${error.message}`);
    if (error instanceof ClickHouseError || isTransient(error)) return undefined;
    throw error;
  });
}
