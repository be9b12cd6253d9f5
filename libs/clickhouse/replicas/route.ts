import type { ClickHouseClient, ClickHouseSettings } from "@clickhouse/client";
import { isUnreachable, StoreTimeoutError } from "../client/errors.ts";
import { replicaOf } from "./choose.ts";
import { askingReplica } from "./settings.ts";
import { type Replicas, type ReplicaWatch, watchReplicas } from "./watch.ts";

/** A server that is asked, by its shard and replica. */
type Route = {
  readonly client: ClickHouseClient;
  readonly shard: number;
  readonly replica: number;
  /** So that this server asks the same replica of all shards. */
  readonly settings: ClickHouseSettings;
};

/** Sends the requests of a cluster with replicas to those that can answer. */
export type ReplicaRouter = {
  /** Reads by the server of any shard, once more if it is lost: a read changes nothing. */
  read<T>(ask: (client: ClickHouseClient, settings: ClickHouseSettings) => Promise<T>): Promise<T>;
  /** Writes by the server of any shard. */
  write<T>(ask: (client: ClickHouseClient, settings: ClickHouseSettings) => Promise<T>): Promise<T>;
  /** A client of each shard, whose requests go to the replica that answers for it. */
  readonly shards: readonly ClickHouseClient[];
};

/**
 * @param servers of each shard.
 * @param shards a client for each shard, which is changed to send each request to the replica that answers for it.
 */
export function routeToReplicas(
  servers: readonly (readonly ClickHouseClient[])[],
  shards: readonly ClickHouseClient[],
): ReplicaRouter {
  const watch = watchReplicas(servers);
  /** The server with this place, or an error that says why there is none. */
  const routeTo = (replicas: Replicas, shard: number, isRead: boolean): Route => {
    const states = replicas.states[shard] ?? [];
    // Rows that a replica lacks make no difference to those that are inserted.
    const replica = isRead && replicas.chosen === undefined ? undefined : replicaOf(states, replicas.chosen);
    const client = replica === undefined ? undefined : servers[shard]?.[replica];
    if (client === undefined || replica === undefined) throw noReplica(replicas, shard);
    return { client, shard, replica, settings: askingReplica(replicas.chosen ?? replica) };
  };
  /** Of the first shard that has one, as any can read or write the others. */
  const anyRoute = (replicas: Replicas, isRead: boolean): Route => {
    if (isRead && replicas.chosen === undefined) throw noReplica(replicas, 0);
    const shard = replicas.states.findIndex((states) => replicaOf(states, replicas.chosen) !== undefined);
    return routeTo(replicas, Math.max(0, shard), isRead);
  };
  const through = async <T>(route: Route, ask: (route: Route) => Promise<T>): Promise<T> => {
    try {
      return await ask(route);
    } catch (error) {
      if (isUnreachable(error)) watch.reportAway(route.shard, route.replica);
      throw error;
    }
  };
  /** A second try goes to another server, as the first is now known to be away. */
  const readBy = async <T>(find: (replicas: Replicas) => Route, ask: (route: Route) => Promise<T>): Promise<T> => {
    try {
      return await through(find(await watch.read()), ask);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      return through(find(await watch.read()), ask);
    }
  };
  return {
    read: (ask) =>
      readBy(
        (all) => anyRoute(all, true),
        ({ client, settings }) => ask(client, settings),
      ),
    write: async (ask) => through(anyRoute(await watch.read(), false), ({ client, settings }) => ask(client, settings)),
    shards: shards.map((client, shard) => routeShard(client, shard, watch, { routeTo, through, readBy })),
  };
}

type Routing = {
  routeTo(replicas: Replicas, shard: number, isRead: boolean): Route;
  through<T>(route: Route, ask: (route: Route) => Promise<T>): Promise<T>;
  readBy<T>(find: (replicas: Replicas) => Route, ask: (route: Route) => Promise<T>): Promise<T>;
};

function routeShard(
  client: ClickHouseClient,
  shard: number,
  watch: ReplicaWatch,
  { routeTo, through, readBy }: Routing,
): ClickHouseClient {
  const reads = (all: Replicas) => routeTo(all, shard, true);
  const writes = async () => routeTo(await watch.read(), shard, false);
  client.query = (params) => readBy(reads, (route) => route.client.query(params));
  client.exec = (params) => readBy(reads, (route) => route.client.exec(params));
  client.insert = async (params) => through(await writes(), (route) => route.client.insert(params));
  // A statement may read what it changes.
  client.command = async (params) => through(reads(await watch.read()), (route) => route.client.command(params));
  return client;
}

function noReplica({ states }: Replicas, shard: number): StoreTimeoutError {
  const lacking = states.findIndex((replicas) => !replicas.includes("complete"));
  const which = lacking < 0 ? shard : lacking;
  const found = (states[which] ?? []).join(", ");
  return new StoreTimeoutError(`no replica of shard ${which + 1} can answer with all rows (they are: ${found})`);
}
