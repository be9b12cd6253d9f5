import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, runForOne, toDateTime64 } from "../client/query.ts";
import { replaceRows } from "./replace-rows.ts";

/** Columns that are not called as their members. */
type ColumnNames = Readonly<Record<string, string>>;

const columnOf = (member: string, columns: ColumnNames) =>
  columns[member] ?? member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const isTime = (member: string) => member.endsWith("At");

/**
 * The row of a record to insert. Its members have columns of their names: `created_at` for `createdAt`. Those that end
 * with "At" are times, in milliseconds since 1970 UTC.
 */
export function toRow(record: Readonly<Record<string, unknown>>, columns: ColumnNames = {}): Record<string, unknown> {
  const members = Object.entries(record);
  return Object.fromEntries(
    members.map(([member, value]) => [columnOf(member, columns), isTime(member) ? toDateTime64(Number(value)) : value]),
  );
}

type RecordsOptions<Row extends z.ZodObject> = {
  /** What metrics call the query that reads them. */
  readonly name: string;
  readonly table: string;
  /** Its members have columns as {@link toRow} says. */
  readonly row: Row;
  /** The member that tells records apart. */
  readonly id: string;
  readonly columns?: ColumnNames;
  /** SQL: which of them are read; all unless given. */
  readonly where?: string;
  readonly orderBy: string;
};

/** A table in which of the rows with the same id the one with the newest `updated_at` counts: its reads and writes. */
export function defineRecords<Row extends z.ZodObject>(options: RecordsOptions<Row>) {
  const { name, table, row, id, columns = {}, where = "true", orderBy } = options;
  const members = Object.keys(row.shape);
  const selected = members.map((member) => {
    const column = columnOf(member, columns);
    return `${isTime(member) ? `toUnixTimestamp64Milli(${column})` : column} AS ${member}`;
  });
  const stored = members.filter((member) => member !== "updatedAt");
  const storedOf = (record: Readonly<Record<string, unknown>>) =>
    toRow(Object.fromEntries(stored.map((member) => [member, record[member]])), columns);
  return {
    /** Reads the records. */
    all: defineQuery({
      name,
      sql: `SELECT ${selected.join(", ")} FROM ${table} FINAL WHERE ${where} ORDER BY ${orderBy}`,
      params: z.object({}),
      row,
    }),
    /** Adds records, or replaces those with the same ids. @param more columns that no read shows. */
    write: (
      client: ClickHouseClient,
      records: readonly Readonly<Record<string, unknown>>[],
      now: number,
      more: Readonly<Record<string, unknown>> = {},
    ): Promise<void> =>
      replaceRows(
        client,
        { table, idColumn: columnOf(id, columns), rows: records.map((record) => ({ ...storedOf(record), ...more })) },
        now,
      ),
  };
}

/**
 * @returns what reads a text that changes whenever one of the tables does. It is made of their whole content, which is
 * small: neither a merge nor another machine's clock can hide a change.
 */
export function defineVersion(name: string, ...tables: readonly string[]) {
  const versions = tables.map(
    (table) => `(SELECT concat(toString(count()), '/', toString(sum(cityHash64(*)))) FROM ${table} FINAL)`,
  );
  const version = defineQuery({
    name,
    sql: `SELECT concat(${versions.join(", ' ', ")}, '') AS version`,
    params: z.object({}),
    row: z.object({ version: z.string() }),
  });
  return async (client: ClickHouseClient): Promise<string> => (await runForOne(client, version, {})).version;
}
