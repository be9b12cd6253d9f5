import { type ClickHouseConnection, connect } from "../client/connect.ts";
import { identifier } from "../client/sql-text.ts";
import { SHARDED_TABLES, TABLES } from "../schema/tables.ts";
import { distributedDatabase, distributedTable, viewOverShards } from "./sql.ts";

/**
 * Makes, on one server, the database whose tables read the sharded tables of all shards, with the views for dashboards.
 * They hold nothing, so they are made anew each time: after a migration they have its columns.
 * @param views the statements that make the views over one server's tables, in order.
 */
export async function createDistributedTables(
  connection: ClickHouseConnection,
  cluster: string,
  views: readonly string[],
): Promise<void> {
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
    for (const view of views) await client.command({ query: viewOverShards({ database }, view) });
  } finally {
    await client.close();
  }
}
