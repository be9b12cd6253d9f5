import { type ClickHouseConnection, connect } from "../client/connect.ts";
import { StoreError } from "../client/errors.ts";
import { readReplicaState } from "../replicas/watch.ts";
import { connectionsOf, readShards } from "./servers.ts";

/** A connection to each server of a cluster by itself, shard by shard. @throws StoreError as {@link readShards} does. */
export async function connectionsOfCluster(
  connection: ClickHouseConnection,
  cluster: string,
): Promise<readonly (readonly ClickHouseConnection[])[]> {
  const server = { ...connection, cluster: undefined };
  const client = connect({ ...server, database: "default" }, "noisefloor-cluster");
  try {
    return connectionsOf(connection, await readShards(client, cluster));
  } finally {
    await client.close();
  }
}

/** The servers of a shard, and one of them that has all its rows. */
export type ShardConnections = {
  readonly complete: ClickHouseConnection;
  readonly all: readonly ClickHouseConnection[];
};

/** @throws StoreError when no server of a shard has all its rows. */
export async function connectionsOfShards(
  connection: ClickHouseConnection,
  cluster: string,
): Promise<readonly ShardConnections[]> {
  const shards = await connectionsOfCluster(connection, cluster);
  return Promise.all(
    shards.map(async (all, index) => {
      const complete = all.length > 1 ? await findComplete(all) : all[0];
      if (complete === undefined) throw new StoreError(`no replica of shard ${index + 1} answers with all rows`);
      return { complete, all };
    }),
  );
}

async function findComplete(replicas: readonly ClickHouseConnection[]): Promise<ClickHouseConnection | undefined> {
  for (const replica of replicas) {
    // Its database need not exist yet.
    const client = connect({ ...replica, database: "default" }, "noisefloor-cluster");
    try {
      if ((await readReplicaState(client, replica.database)) === "complete") return replica;
    } finally {
      await client.close();
    }
  }
  return undefined;
}
