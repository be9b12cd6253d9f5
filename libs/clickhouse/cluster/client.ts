import type { ClickHouseClient, ClickHouseSettings } from "@clickhouse/client";
import type { ClickHouseConnection } from "../client/connection.ts";
import { type ReplicaRouter, routeToReplicas } from "../replicas/route.ts";
import { SHARDED_TABLES } from "../schema/tables.ts";
import { type Cluster, setCluster } from "./cluster.ts";
import { askForShards, connectionsOf } from "./servers.ts";
import type { Shard } from "./shard.ts";
import { changesShards, distributedTable, insertsIntoShards, overAllShards } from "./sql.ts";

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
 * - `query` and `exec` ask one server, which reads sharded tables on all shards;
 * - `insert` sends rows of a sharded table to their shards, and all others to every server. What the intake stores goes
 *   straight to the servers instead: see `openInsertQueue`;
 * - `command` runs on every server, with the tables that are there. An INSERT into a sharded table runs once, for all
 *   shards; a statement that changes rows of one, once for each shard, whose replicas follow. One that fails may have
 *   been run by some of them: every command of ours can be repeated.
 *
 * The one server is that of the connection; in a cluster with replicas, one of those that have all rows.
 * @param connectTo makes a client of one server.
 */
export function joinCluster(
  client: ClickHouseClient,
  connection: ClickHouseConnection & { readonly cluster: string },
  connectTo: (server: ClickHouseConnection) => ClickHouseClient,
): ClickHouseClient {
  const own = connectTo({ ...connection, cluster: undefined });
  let opened: Promise<Members> | undefined;
  const members = () => {
    opened ??= askForShards(connection, connectTo).then((layout) => openMembers(connection, layout, connectTo));
    opened.catch(() => {
      opened = undefined;
    });
    return opened;
  };
  const cluster: Cluster = {
    name: connection.cluster,
    database: connection.database,
    layout: async () => (await members()).layout,
    servers: async () => (await members()).servers,
    shards: async () => (await members()).shards,
  };
  setCluster(client, cluster);
  const read: ReplicaRouter["read"] = async (ask) => {
    const { router } = await members();
    return router === undefined ? ask(own, {}) : router.read(ask);
  };
  const insert: ReplicaRouter["insert"] = async (ask) => {
    const { router } = await members();
    return router === undefined ? ask(own, {}) : router.insert(ask);
  };
  const overAll = <P extends Statement>(params: P, settings: ClickHouseSettings) => ({
    ...params,
    ...withSettings(params, settings),
    query: overAllShards(cluster, params.query),
  });
  client.query = (params) => read((server, settings) => server.query(overAll(params, settings)));
  client.exec = (params) => read((server, settings) => server.exec(overAll(params, settings)));
  client.command = async (params) => {
    if (insertsIntoShards(params.query)) {
      return insert((server, settings) => server.command(overAll(params, settings)));
    }
    const { servers, shards } = await members();
    return onEach(changesShards(params.query) ? shards : servers.flat(), (server) => server.command(params));
  };
  client.insert = async (params) => {
    if (!SHARDED_TABLES.includes(params.table)) {
      return onEach((await members()).servers.flat(), (server) => server.insert(params));
    }
    const table = distributedTable(cluster.database, params.table);
    return insert((server, settings) => server.insert({ ...params, ...withSettings(params, settings), table }));
  };
  client.ping = (params) => own.ping(params);
  const close = client.close.bind(client);
  client.close = async () => {
    await close();
    await own.close();
    const { servers = [], shards = [] } = (await opened?.catch(() => undefined)) ?? {};
    for (const server of [...servers.flat(), ...shards]) await server.close();
  };
  return client;
}

/** The servers of a cluster, and how to reach them. */
type Members = {
  readonly layout: readonly Shard[];
  readonly servers: readonly (readonly ClickHouseClient[])[];
  readonly shards: readonly ClickHouseClient[];
  /** Of a cluster with replicas. */
  readonly router: ReplicaRouter | undefined;
};

function openMembers(
  connection: ClickHouseConnection,
  layout: readonly Shard[],
  connectTo: (server: ClickHouseConnection) => ClickHouseClient,
): Members {
  const connections = connectionsOf(connection, layout);
  const servers = connections.map((replicas) => replicas.map(connectTo));
  if (servers.every(({ length }) => length === 1))
    return { layout, servers, shards: servers.flat(), router: undefined };
  const firsts = connections.flatMap(([first]) => (first === undefined ? [] : [connectTo(first)]));
  const router = routeToReplicas(servers, firsts);
  return { layout, servers, shards: router.shards, router };
}

type WithSettings = { readonly clickhouse_settings?: ClickHouseSettings };
type Statement = WithSettings & { readonly query: string };

const withSettings = ({ clickhouse_settings }: WithSettings, settings: ClickHouseSettings) => ({
  clickhouse_settings: { ...clickhouse_settings, ...settings },
});

/** One server after the other, so that a statement that is wrong changes none. @returns the last result. */
async function onEach<T>(
  servers: readonly ClickHouseClient[],
  act: (server: ClickHouseClient) => Promise<T>,
): Promise<T> {
  const [first, ...others] = servers;
  if (first === undefined) throw new RangeError("a cluster without servers");
  let result = await act(first);
  for (const server of others) result = await act(server);
  return result;
}
