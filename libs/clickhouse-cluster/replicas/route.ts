import type { ClickHouseSettings } from "@clickhouse/client";
import { type ClickHouseClient, type Requests, serverClient } from "@noisefloor/clickhouse/client/client.ts";
import { isUnreachable, StoreTimeoutError } from "@noisefloor/clickhouse/client/errors.ts";
import { type ReplicaState, replicaOf } from "./choose.ts";
import { createReplicaCache, type ReplicaCache, type Replicas } from "./replica-cache.ts";
import { askingReplica, storingOn } from "./settings.ts";
import { createAlike, syncReplicas } from "./tables.ts";
import { waitForReplicas } from "./wait-for-changes.ts";

/** Sends a request to the server of a client, with these settings. */
type Ask<T> = (client: ClickHouseClient, settings: ClickHouseSettings) => Promise<T>;

/** Sends the requests of a cluster with replicas to those that can answer. */
export type ReplicaRouter = {
  /** Reads by the server of any shard, once more if it is lost: a read changes nothing. */
  read<T>(ask: Ask<T>): Promise<T>;
  /** Inserts by the server of any shard. */
  insert<T>(ask: Ask<T>): Promise<T>;
  /** A client of each shard, which sends each request to the replica that answers for it. They need not be closed. */
  readonly shards: readonly ClickHouseClient[];
};

/** A server, by its shard and replica. */
type Place = { readonly shard: number; readonly replica: number };

/** @param servers of each shard. @param database of each server. */
export function routeToReplicas(servers: readonly (readonly ClickHouseClient[])[], database: string): ReplicaRouter {
  const cache = createReplicaCache(servers);
  const askAt = async <T>({ shard, replica }: Place, ask: (client: ClickHouseClient) => Promise<T>): Promise<T> => {
    const client = servers[shard]?.[replica];
    if (client === undefined) throw new RangeError(`there is no replica ${replica} of shard ${shard}`);
    try {
      return await ask(client);
    } catch (error) {
      if (isUnreachable(error)) cache.reportAway(shard, replica);
      throw error;
    }
  };
  const shards = servers.map((replicas, shard) => shardClient(replicas, shard, { cache, askAt, database }));
  return {
    read: (ask) =>
      twice(async () => {
        const replicas = await cache.read();
        return askAt(anyReader(replicas), (client) => ask(client, askingReplica(replicas.chosen ?? 0)));
      }),
    async insert(ask) {
      const replicas = await cache.read();
      const place = anyWriter(replicas);
      const settings = {
        ...askingReplica(replicas.chosen ?? place.replica),
        ...storingOn(Math.min(...replicas.states.map(countComplete))),
      };
      return askAt(place, (client) => ask(client, settings));
    },
    shards,
  };
}

type Routing = {
  readonly cache: ReplicaCache;
  readonly database: string;
  askAt<T>(place: Place, ask: (client: ClickHouseClient) => Promise<T>): Promise<T>;
};

type WithSettings = { readonly clickhouse_settings?: ClickHouseSettings };

/** @param replicas clients of the servers of the shard with this index. */
function shardClient(
  replicas: readonly ClickHouseClient[],
  shard: number,
  { cache, askAt, database }: Routing,
): ClickHouseClient {
  const readBy = async <T>(ask: (server: ClickHouseClient) => Promise<T>) =>
    askAt(readerOf(await cache.read(), shard), ask);
  const insertBy = async <T>(params: WithSettings, ask: Ask<T>) => {
    const known = await cache.read();
    const place = writerOf(known, shard);
    const settings = { ...params.clickhouse_settings, ...storingOn(countComplete(known.states[shard] ?? [])) };
    const token = settings.insert_deduplication_token;
    // Another replica knows the token of an insert that only the one before has the rows of, and would not store them.
    if (token !== undefined) settings.insert_deduplication_token = `${token}/${place.replica}`;
    return askAt(place, (server) => ask(server, settings));
  };
  const requests: Requests = {
    query: (params) => twice(() => readBy((server) => server.query(params))),
    insert: (params) =>
      insertBy(params, (server, clickhouse_settings) => server.insert({ ...params, clickhouse_settings })),
    // Only an insert has values.
    exec: (params) =>
      "values" in params
        ? insertBy(params, (server, clickhouse_settings) => server.exec({ ...params, clickhouse_settings }))
        : twice(() => readBy((server) => server.exec(params))),
    // A statement may read what it changes.
    command: (params) => readBy((server) => server.command(params)),
    ping: (params) => readBy((server) => server.ping(params)),
    close: async () => {},
  };
  const client = serverClient(requests, database);
  const ofShard: ClickHouseClient = {
    ...client,
    insertSelect: (params) =>
      insertBy(params, (server, clickhouse_settings) => server.command({ ...params, clickhouse_settings })),
    owners: async () => [ofShard],
    servers: async () => [replicas],
    createAlike: (table, place) => createAlike(replicas, table, place),
    sync: (tables) => syncReplicas(replicas, tables),
    settle: (table) => waitForReplicas(replicas, table),
  };
  return ofShard;
}

/** A retry goes to another server, as the first one is now known to be away. */
async function twice<T>(attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    return attempt();
  }
}

/** The server that answers for a shard. @throws StoreTimeoutError when each would lack rows. */
function readerOf(replicas: Replicas, shard: number): Place {
  const { states, chosen } = replicas;
  const replica = chosen === undefined ? undefined : replicaOf(states[shard] ?? [], chosen);
  if (replica === undefined) throw noReplica(replicas, shard);
  return { shard, replica };
}

/** The server that takes a shard's rows: what a replica lacks makes no difference to them. */
function writerOf(replicas: Replicas, shard: number): Place {
  const replica = replicaOf(replicas.states[shard] ?? [], replicas.chosen);
  if (replica === undefined) throw noReplica(replicas, shard);
  return { shard, replica };
}

/** A server of the first shard that has one: each can ask all shards. */
const anyReader = (replicas: Replicas) => readerOf(replicas, firstShard(replicas));
const anyWriter = (replicas: Replicas) => writerOf(replicas, firstShard(replicas));

function firstShard({ states, chosen }: Replicas): number {
  return Math.max(
    0,
    states.findIndex((replicas) => replicaOf(replicas, chosen) !== undefined),
  );
}

const countComplete = (states: readonly ReplicaState[]) => states.filter((state) => state === "complete").length;

function noReplica({ states }: Replicas, shard: number): StoreTimeoutError {
  const lacking = states.findIndex((replicas) => !replicas.includes("complete"));
  const which = lacking < 0 ? shard : lacking;
  const found = (states[which] ?? []).join(", ");
  return new StoreTimeoutError(`no replica of shard ${which + 1} can answer with all rows (they are: ${found})`);
}
