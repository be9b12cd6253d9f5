import type { ClickHouseSettings } from "@clickhouse/client";
import { bindingDatabases, type ClickHouseClient, type Requests } from "@noisefloor/clickhouse/client/client.ts";
import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connection.ts";
import { literal } from "@noisefloor/clickhouse/client/sql-text.ts";
import { SPREAD_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { createSingleFlight } from "@noisefloor/domain/time/single-flight.ts";
import { type ReplicaRouter, routeToReplicas } from "../replicas/route.ts";
import { distributedDatabase, distributedTable } from "./names.ts";
import { askForShards, type ClusterConnection, connectionsOf } from "./servers.ts";
import { type Shard, shardOfAddress } from "./shard.ts";

/** What every query and insert of a cluster's client says beyond those of a single server. */
const CLUSTER_SETTINGS = {
  // A shard that does not answer is an error: without it every number would be smaller.
  skip_unavailable_shards: 0,
  optimize_skip_unused_shards: 0,
  // An insert ends when the shards have stored the rows, not when the server has put them into a folder for later.
  distributed_foreground_insert: 1,
  // A table that is read inside an IN or a JOIN counts with the rows of all shards.
  distributed_product_mode: "global",
} as const;

/** A client of a ClickHouse cluster, whose servers all have the database of its connection. */
export type ClusterClient = ClickHouseClient & {
  /** What the configuration of its servers says of its shards. */
  layout(): Promise<readonly Shard[]>;
};

/** The shards of the cluster that a client works on; undefined for a client of one server. */
export async function readOwnShards(client: ClickHouseClient): Promise<readonly Shard[] | undefined> {
  return isOfCluster(client) ? client.layout() : undefined;
}

function isOfCluster(client: ClickHouseClient): client is ClusterClient {
  return "layout" in client;
}

/**
 * A client of a cluster. It asks one server, that of the connection or, in a cluster with replicas, one of those that
 * have all rows; this server reads sharded tables on all shards, and sends rows that are inserted to them. What the
 * intake stores goes straight to the shards instead: see `openInsertQueue`.
 */
export function connectCluster(
  connection: ClusterConnection,
  application: string,
  requestTimeoutMs?: number,
): ClusterClient {
  const { cluster, otherUrls: _others, ...server } = connection;
  const { database } = server;
  const connectTo: ConnectTo = (one) => connect(one, application, requestTimeoutMs, CLUSTER_SETTINGS);
  const own = connectTo(server);
  const overShards = { rows_database: distributedDatabase(database), own_database: database };
  const onShard = { rows_database: database, own_database: database };
  const openOnce = createSingleFlight<"members", Members>({ keepsResults: true });
  let opened: Members | undefined;
  const members = () =>
    openOnce("members", async () => {
      opened = openMembers(connection, await askForShards(connection, connectTo), connectTo);
      return opened;
    });
  const read: ReplicaRouter["read"] = async (ask) => {
    const { router } = await members();
    return router === undefined ? ask(own, {}) : router.read(ask);
  };
  const insert: ReplicaRouter["insert"] = async (ask) => {
    const { router } = await members();
    return router === undefined ? ask(own, {}) : router.insert(ask);
  };
  const allServers = async () => (await members()).servers.flat();
  const requests: Requests = {
    query: (params) => read((server, settings) => server.query(withSettings(params, settings))),
    exec: (params) => read((server, settings) => server.exec(withSettings(params, settings))),
    command: async (params) => onEach(await allServers(), (server) => server.command(params)),
    insert: async (params) => {
      if (!SPREAD_TABLES.includes(params.table)) {
        return onEach(await allServers(), (server) => server.insert(params));
      }
      const table = distributedTable(database, params.table);
      return insert((server, settings) => server.insert({ ...withSettings(params, settings), table }));
    },
    ping: (params) => own.ping(params),
    close: async () => {
      await own.close();
      await openOnce.settled();
      for (const server of opened?.servers.flat() ?? []) await server.close();
    },
  };
  const insertSelect: Requests["command"] = (params) =>
    insert((server, settings) => server.command(withSettings(params, settings)));
  return {
    ...bindingDatabases(requests, overShards),
    // Each server changes tables of its own.
    command: requests.command,
    insertSelect: bindingDatabases({ ...requests, command: insertSelect }, overShards).command,
    requestOf({ sql, combine, perServer = sql }) {
      if (combine === undefined) return { query: sql, query_params: overShards };
      // A shard gets the text of a view unchanged and has no current database.
      const results = `cluster(${literal(cluster)}, view(${perServer}))`;
      return { query: combine(results), query_params: onShard };
    },
    owners: async () => (await members()).shards,
    ownerOf: async () => shardOfAddress((await members()).layout),
    servers: async () => (await members()).servers,
    layout: async () => (await members()).layout,
    createAlike: async (table, place) => {
      for (const shard of (await members()).shards) await shard.createAlike(table, place);
    },
    sync: async (tables) => {
      for (const shard of (await members()).shards) await shard.sync(tables);
    },
    settle: async (table) => {
      for (const shard of (await members()).shards) await shard.settle(table);
    },
  };
}

type ConnectTo = (server: ClickHouseConnection) => ClickHouseClient;

/** The servers of a cluster, and how to reach them. */
type Members = {
  readonly layout: readonly Shard[];
  readonly servers: readonly (readonly ClickHouseClient[])[];
  readonly shards: readonly ClickHouseClient[];
  /** Set for a cluster with replicas. */
  readonly router: ReplicaRouter | undefined;
};

function openMembers(connection: ClusterConnection, layout: readonly Shard[], connectTo: ConnectTo): Members {
  const servers = connectionsOf(connection, layout).map((replicas) => replicas.map(connectTo));
  if (servers.every(({ length }) => length === 1)) {
    return { layout, servers, shards: servers.flat(), router: undefined };
  }
  const router = routeToReplicas(servers, connection.database);
  return { layout, servers, shards: router.shards, router };
}

const withSettings = <P extends { readonly clickhouse_settings?: ClickHouseSettings }>(
  params: P,
  settings: ClickHouseSettings,
) => ({ ...params, clickhouse_settings: { ...params.clickhouse_settings, ...settings } });

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
