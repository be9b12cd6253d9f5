import { type ClickHouseConnection, connect } from "../client/connect.ts";
import { identifier } from "../client/sql-text.ts";
import { SHARDED_TABLES, TABLES } from "../schema/tables.ts";
import { distributedDatabase, distributedTable } from "./sql.ts";

/**
 * Makes, on one server, the database whose tables read the sharded tables of all shards. They hold nothing, so they are
 * made anew each time: after a migration they have its columns.
 */
export async function createDistributedTables(connection: ClickHouseConnection, cluster: string): Promise<void> {
  const { database } = connection;
  const client = connect(connection, "noisefloor-migrate");
  try {
    await client.command({ query: `CREATE DATABASE IF NOT EXISTS ${identifier(distributedDatabase(database))}` });
    for (const table of SHARDED_TABLES) {
      const key = TABLES[table]?.shardBy;
      const engine = [cluster, database, table]
        .map(identifier)
        .concat(key ?? [])
        .join(", ");
      await client.command({
        query: `CREATE OR REPLACE TABLE ${distributedTable(database, table)} AS ${identifier(database)}.${table}
          ENGINE = Distributed(${engine})`,
      });
    }
  } finally {
    await client.close();
  }
}
