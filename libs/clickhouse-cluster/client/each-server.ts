import { type ClickHouseConnection, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { StoreError } from "@noisefloor/clickhouse/client/errors.ts";
import { defineQuery, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import { readReplicaState } from "../replicas/replica-cache.ts";
import { askForShards, type ClusterConnection, connectionsOf } from "./servers.ts";

/** A connection to each server of a cluster, shard by shard. @throws StoreError as {@link askForShards} does. */
export async function connectionsOfCluster(
  connection: ClusterConnection,
): Promise<readonly (readonly ClickHouseConnection[])[]> {
  const anyServer = { ...connection, database: "default" };
  const shards = await askForShards(anyServer, (server) => connect(server, "noisefloor-cluster"));
  return connectionsOf(connection, shards);
}

/** The servers of a shard, and one of them that has all its rows. */
export type ShardConnections = {
  readonly complete: ClickHouseConnection;
  readonly all: readonly ClickHouseConnection[];
};

/** @throws StoreError when no server of a shard has all its rows. */
export async function connectionsOfShards(connection: ClusterConnection): Promise<readonly ShardConnections[]> {
  const shards = await connectionsOfCluster(connection);
  return Promise.all(
    shards.map(async (all, index) => {
      const complete = all.length > 1 ? await findComplete(all) : all[0];
      if (complete === undefined) throw new StoreError(`no replica of shard ${index + 1} answers with all rows`);
      return { complete, all };
    }),
  );
}

/** Finds a server that has all tables; while none has any, the first server. */
async function findComplete(replicas: readonly ClickHouseConnection[]): Promise<ClickHouseConnection | undefined> {
  let isEmpty = true;
  for (const replica of replicas) {
    // Its database need not exist yet.
    const client = connect({ ...replica, database: "default" }, "noisefloor-cluster");
    try {
      if ((await readReplicaState(client, replica.database)) === "complete") return replica;
      isEmpty &&= (await runForOne(client, tablesOf, { database: replica.database })).tables === 0;
    } finally {
      await client.close();
    }
  }
  return isEmpty ? replicas[0] : undefined;
}

const tablesOf = defineQuery({
  name: "tables-of-database",
  sql: "SELECT count() AS tables FROM system.tables WHERE database = {database:String}",
  params: z.object({ database: z.string() }),
  row: z.object({ tables: z.int() }),
});
