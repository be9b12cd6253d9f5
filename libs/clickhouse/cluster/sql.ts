import { identifier, literal } from "../client/sql-text.ts";
import { SHARDED_TABLES, TABLES } from "../schema/tables.ts";
import type { Cluster } from "./cluster.ts";

/** The database with a Distributed table for each sharded one, beside the database with the tables themselves. */
export function distributedDatabase(database: string): string {
  return `${database}_cluster`;
}

/** Where a statement reads or inserts into one of these tables, named without a database. */
const placesOf = (tables: readonly string[]) => new RegExp(`\\b(FROM|JOIN|INTO)(\\s+)(${tables.join("|")})\\b`, "g");
const SHARDED = placesOf(SHARDED_TABLES);
/** Names of WITH clauses are none of these. */
const ALL = placesOf(Object.keys(TABLES));

/** The same statement over the rows of all shards: it names the Distributed tables. */
export function overAllShards({ database }: Pick<Cluster, "database">, sql: string): string {
  return sql.replace(SHARDED, (_, word, space, table) => `${word}${space}${distributedTable(database, table)}`);
}

const INSERT = new RegExp(`^\\s*INSERT INTO (${SHARDED_TABLES.join("|")})\\b`);

export function insertsIntoShards(sql: string): boolean {
  return INSERT.test(sql);
}

const CHANGE = new RegExp(
  `^\\s*(TRUNCATE TABLE|DELETE FROM|OPTIMIZE TABLE|ALTER TABLE) (IF EXISTS )?(${SHARDED_TABLES.join("|")})\\b`,
);
/** Replicas do not tell each other of a table's settings. */
const OWN_SETTINGS = /\b(MODIFY|RESET) SETTING\b/;

/** Whether a statement changes rows or the definition of a sharded table in a way that a shard's replicas follow. */
export function changesShards(sql: string): boolean {
  return CHANGE.test(sql) && !OWN_SETTINGS.test(sql);
}

export function distributedTable(database: string, table: string): string {
  return `${identifier(distributedDatabase(database))}.${table}`;
}

/**
 * A query that each shard answers by itself, from the tables in its own database, and whose rows come together: as what
 * a FROM reads. A shard gets the text of a view unchanged and has no current database, so each table is named in full.
 */
export function perShard({ name, database }: Pick<Cluster, "name" | "database">, sql: string): string {
  const local = sql
    .replace(ALL, (_, word, space, table) => `${word}${space}${identifier(database)}.${table}`)
    .replaceAll("currentDatabase()", literal(database));
  return `cluster(${literal(name)}, view(${local}))`;
}
