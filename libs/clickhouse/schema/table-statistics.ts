import { type ClickHouseClient, ClickHouseError } from "@clickhouse/client";
import { z } from "zod";
import { isNotThere, isTransient, StoreError } from "../client/errors.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { AGEING_TABLES, daysIn } from "./retention.ts";

/** What a table holds. */
export type StoredTable = {
  readonly table: string;
  /** As they lie on disk: rows that replace each other count until they are merged. */
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
    FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' ORDER BY name`,
  params: z.object({}),
  row: z.object({ name: z.string(), definition: z.string(), rows: z.int(), bytes: z.int() }),
});

const ageing = Object.entries(AGEING_TABLES);

const timeSpans = defineQuery({
  name: "table-time-spans",
  sql: ageing
    .map(
      ([table, { time }]) => `SELECT '${table}' AS name, count() AS rows,
        toUnixTimestamp64Milli(toDateTime64(min(${time}), 3, 'UTC')) AS oldest,
        toUnixTimestamp64Milli(toDateTime64(max(${time}), 3, 'UTC')) AS newest FROM ${table}`,
    )
    .join(" UNION ALL "),
  params: z.object({}),
  row: z.object({ name: z.string(), rows: z.int(), oldest: z.int(), newest: z.int() }),
});

/** Every table of the store by its name, with what it holds and for how long. */
export async function readStoredTables(client: ClickHouseClient): Promise<StoredTable[]> {
  const spans = new Map((await unlessRefused(run(client, timeSpans, {})))?.map((span) => [span.name, span]));
  return (await run(client, tableSizes, {})).map(({ name, definition, rows, bytes }) => {
    const span = spans.get(name);
    const isEmpty = span === undefined || span.rows === 0;
    return {
      table: name,
      rows,
      bytesOnDisk: bytes,
      from: isEmpty ? undefined : span.oldest,
      to: isEmpty ? undefined : span.newest,
      retentionDays: daysIn(definition),
    };
  });
}

const newestReceipt = defineQuery({
  name: "newest-receipt",
  sql: "SELECT toUnixTimestamp64Milli(max(received_at)) AS at FROM observations",
  params: z.object({}),
  row: z.object({ at: z.int() }),
});

/** When the store took its newest observation, in milliseconds since 1970 UTC; undefined when it holds none. */
export async function readNewestReceipt(client: ClickHouseClient): Promise<number | undefined> {
  const { at } = await runForOne(client, newestReceipt, {});
  return at === 0 ? undefined : at;
}

/**
 * How many rows of each table, of those that age, are older than `days` days now. Partitions that are as a whole older or
 * newer are not read. @returns undefined when the server may not read so much, or not for so long.
 */
export async function countOlderRows(client: ClickHouseClient, days: number): Promise<Map<string, number> | undefined> {
  if (!Number.isInteger(days) || days < 1) throw new RangeError(`${days} is not a whole number of days from 1`);
  const olderRows = defineQuery({
    name: "rows-beyond-retention",
    sql: ageing
      .map(([table, { ttl }]) => `SELECT '${table}' AS name, count() AS rows FROM ${table} WHERE ${ttl(days)} <= now()`)
      .join(" UNION ALL "),
    params: z.object({}),
    row: z.object({ name: z.string(), rows: z.int() }),
  });
  const counted = await unlessRefused(run(client, olderRows, {}));
  return counted && new Map(counted.map(({ name, rows }) => [name, rows]));
}

/** Of a large store some answers take more than the server gives; the others are told all the same. */
export async function unlessRefused<T>(asked: Promise<T>): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (isNotThere(error) && error instanceof Error) throw new StoreError(`a table is lost: ${error.message}`);
    if (error instanceof ClickHouseError || isTransient(error)) return undefined;
    throw error;
  });
}
