import type { ClickHouseClient } from "@clickhouse/client";
import type { ClickHouseConnection } from "../client/connection.ts";
import { SHARDED_TABLES } from "../schema/tables.ts";
import { type Cluster, setCluster } from "./cluster.ts";
import { connectionsOf, readShards } from "./servers.ts";
import { distributedTable, insertsIntoShards, overAllShards } from "./sql.ts";

/** What every query and insert of a cluster's client says beyond those of a single server. */
export const CLUSTER_SETTINGS = {
  // A shard that does not answer is an error: without it every number would be smaller.
  skip_unavailable_shards: 0,
  optimize_skip_unused_shards: 0,
  // An insert ends when the shards have stored the rows, not when the server has put them into a folder for later.
  distributed_foreground_insert: 1,
  // A table that is read inside an IN or a JOIN counts with the rows of all shards.
  distributed_product_mode: "global",
} as const;

/**
 * Makes a client of one server a client of its cluster:
 * - `query` and `exec` ask this server, which reads sharded tables on all shards;
 * - `insert` sends rows of a sharded table to their shards, and all others to every server. What the intake stores goes
 *   straight to the servers instead: see `openInsertQueue`;
 * - `command` runs on every server, with the tables that are there, but an INSERT into a sharded table once, for all
 *   shards. One that fails may have been run by some of them: every command of ours can be repeated.
 * @param name of the cluster.
 * @param connectTo makes a client of one server.
 */
export function joinCluster(
  client: ClickHouseClient,
  connection: ClickHouseConnection,
  name: string,
  connectTo: (server: ClickHouseConnection) => ClickHouseClient,
): ClickHouseClient {
  const [query, exec, close] = [client.query.bind(client), client.exec.bind(client), client.close.bind(client)];
  let opened: Promise<readonly ClickHouseClient[]> | undefined;
  const servers = () => {
    opened ??= readShards(client, name).then((shards) => connectionsOf(connection, shards).map(connectTo));
    opened.catch(() => {
      opened = undefined;
    });
    return opened;
  };
  const cluster: Cluster = { name, database: connection.database, servers };
  /** One server after the other, so that a statement that is wrong changes none. @returns the last result. */
  const onEach = async <T>(act: (server: ClickHouseClient) => Promise<T>): Promise<T> => {
    const [first, ...others] = await servers();
    if (first === undefined) throw new RangeError("a cluster without servers");
    let result = await act(first);
    for (const server of others) result = await act(server);
    return result;
  };
  const [insert, command] = [client.insert.bind(client), client.command.bind(client)];
  setCluster(client, cluster);
  client.query = (params) => query({ ...params, query: overAllShards(cluster, params.query) });
  client.exec = (params) => exec({ ...params, query: overAllShards(cluster, params.query) });
  client.command = (params) =>
    insertsIntoShards(params.query)
      ? command({ ...params, query: overAllShards(cluster, params.query) })
      : onEach((server) => server.command(params));
  client.insert = (params) =>
    SHARDED_TABLES.includes(params.table)
      ? insert({ ...params, table: distributedTable(cluster.database, params.table) })
      : onEach((server) => server.insert(params));
  client.close = async () => {
    await close();
    for (const server of (await opened?.catch(() => [])) ?? []) await server.close();
  };
  return client;
}
