import { type ClickHouseConnection, connect } from "../client/connect.ts";
import { connectionsOf, readShards } from "./servers.ts";

/** A connection to each server of a cluster by itself. @throws StoreError as {@link readShards} does. */
export async function connectionsOfCluster(
  connection: ClickHouseConnection,
  cluster: string,
): Promise<readonly ClickHouseConnection[]> {
  const server = { ...connection, cluster: undefined };
  const client = connect({ ...server, database: "default" }, "noisefloor-cluster");
  try {
    return connectionsOf(connection, await readShards(client, cluster));
  } finally {
    await client.close();
  }
}
