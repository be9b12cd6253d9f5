import { identifier } from "@noisefloor/clickhouse/client/sql-text.ts";

/** The database with a Distributed table for each sharded one, beside the database with the tables themselves. */
export function distributedDatabase(database: string): string {
  return `${database}_cluster`;
}

export function distributedTable(database: string, table: string): string {
  return `${identifier(distributedDatabase(database))}.${table}`;
}
