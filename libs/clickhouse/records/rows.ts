import { z } from "zod";
import { defineQuery, toDateTime64 } from "../client/query.ts";
import { rowsOf } from "../client/table-names.ts";
import { SPREAD_TABLES } from "../schema/tables.ts";

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

export type RowsOptions<Row extends z.ZodObject> = {
  readonly table: string;
  /** Its members have columns as {@link toRow} says. */
  readonly row: Row;
  /** The member that tells records apart. */
  readonly id: string;
  /** The type of its column; String unless given. A number of 64 bits is a text in records. */
  readonly idType?: "UInt64";
  readonly columns?: ColumnNames;
  /** SQL; the id unless given. */
  readonly orderBy?: string;
};

/** The reads of a table in which of the rows with the same id the newest counts, and its columns. */
export function defineRows<Row extends z.ZodObject>(options: RowsOptions<Row>) {
  const { table, row, id, idType = "String", columns = {} } = options;
  const idColumn = columnOf(id, columns);
  const { orderBy = `record.${idColumn}` } = options;
  const members = Object.keys(row.shape);
  const selected = members.map((member) => {
    const column = `record.${columnOf(member, columns)}`;
    if (member === id && idType !== "String") return `toString(${column}) AS ${member}`;
    return `${isTime(member) ? `toUnixTimestamp64Milli(${column})` : column} AS ${member}`;
  });
  const from = SPREAD_TABLES.includes(table) ? rowsOf(table) : table;
  const select = `SELECT ${selected.join(", ")} FROM ${from} AS record FINAL`;
  return {
    idColumn,
    /** Reads all records. */
    all: defineQuery({ name: `all-${table}`, sql: `${select} ORDER BY ${orderBy}`, params: z.object({}), row }),
    /** Reads those with these ids. */
    byIds: defineQuery({
      name: `${table}-by-id`,
      sql: `${select} WHERE record.${idColumn} IN {ids:Array(${idType})}`,
      params: z.object({ ids: z.array(z.string().transform((text) => (idType === "UInt64" ? BigInt(text) : text))) }),
      row,
    }),
    /** The row of a record, without members that are none of the table. */
    rowOf: (record: Readonly<Record<string, unknown>>) =>
      toRow(Object.fromEntries(Object.entries(record).filter(([member]) => members.includes(member))), columns),
  };
}
