import { readTableNames } from "@noisefloor/clickhouse/backup/backup.ts";
import { type ClickHouseConnection, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { identifier } from "@noisefloor/clickhouse/client/sql-text.ts";
import { COUNT_VIEWS, REFERENCE_VIEWS, ROW_VIEWS } from "@noisefloor/clickhouse/schema/dashboard-views.ts";
import { SPREAD_TABLES, TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { distributedDatabase, distributedTable } from "../client/names.ts";

/** The name of the Distributed table with a row of each shard for every row of a view that counts. */
export const perShardName = (view: string) => `${view}_per_shard`;

/**
 * Makes, on one server, the database whose tables read the sharded tables of all shards, with the views for
 * dashboards: each shard answers from its own view, so that a question's filter reaches its key. They hold nothing, so
 * they are made anew each time: after a migration they have its columns.
 */
export async function createDistributedTables(connection: ClickHouseConnection, cluster: string): Promise<void> {
  const { database } = connection;
  const client = connect(connection, "noisefloor-migrate");
  const create = (what: "TABLE" | "VIEW", name: string, as: string) =>
    client.command({ query: `CREATE OR REPLACE ${what} ${distributedTable(database, name)} ${as}` });
  const distribute = (source: string, name = source) => {
    const engine = [cluster, database, source].map(identifier).concat(TABLES[source]?.spreadBy ?? []);
    return create("TABLE", name, `AS ${identifier(database)}.${source} ENGINE = Distributed(${engine.join(", ")})`);
  };
  const view = (name: string, select: string) => create("VIEW", name, `SQL SECURITY INVOKER AS ${select}`);
  try {
    await client.command({ query: `CREATE DATABASE IF NOT EXISTS ${identifier(distributedDatabase(database))}` });
    // Migrations of another version may make fewer tables, and no views for dashboards.
    const present = await readTableNames(client, database);
    const isPresent = (name: string) => present.has(name);
    for (const source of [...SPREAD_TABLES, ...ROW_VIEWS].filter(isPresent)) await distribute(source);
    for (const name of REFERENCE_VIEWS.filter(isPresent))
      await view(name, `SELECT * FROM ${identifier(database)}.${name}`);
    for (const name of COUNT_VIEWS.filter(isPresent)) {
      await distribute(name, perShardName(name));
      // An address is on one shard, so the counts of all shards add up.
      await view(
        name,
        `SELECT * EXCEPT (addresses), sum(part.addresses) AS addresses
          FROM ${distributedTable(database, perShardName(name))} AS part GROUP BY ALL`,
      );
    }
  } finally {
    await client.close();
  }
}
