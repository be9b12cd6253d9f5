import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, runForOne, toDateTime64 } from "../client/query.ts";

const newestUpdate = defineQuery({
  name: "newest-update",
  sql: `SELECT toUnixTimestamp64Milli(max(updated_at)) AS updatedAt FROM {table:Identifier}
    WHERE toString({idColumn:Identifier}) IN {ids:Array(String)}`,
  params: z.object({ table: z.string(), idColumn: z.string(), ids: z.array(z.string()) }),
  row: z.object({ updatedAt: z.int() }),
});

/**
 * Inserts rows that replace those with the same ids, into a table in which the row with the newest `updated_at` counts.
 * They get a newer time than the rows they replace, whatever the clock says: with a clock that is late, a change
 * would be inserted and never be seen.
 * @param rows with the same columns each; other columns get their defaults.
 * @param now milliseconds since 1970 UTC.
 */
export async function replaceRows(
  client: ClickHouseClient,
  { table, idColumn, rows }: { table: string; idColumn: string; rows: readonly Readonly<Record<string, unknown>>[] },
  now: number,
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const newest = await runForOne(client, newestUpdate, {
    table,
    idColumn,
    ids: rows.map((row) => String(row[idColumn])),
  });
  const updated_at = toDateTime64(Math.max(now, newest.updatedAt + 1));
  await client.insert({
    table,
    // A user may have the right to write these columns alone.
    columns: ["updated_at", ...Object.keys(first).filter((column) => column !== "updated_at")],
    values: rows.map((row) => ({ ...row, updated_at })),
    format: "JSONEachRow",
  });
}
