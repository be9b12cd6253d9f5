import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connection.ts";
import { isTransient, StoreError } from "@noisefloor/clickhouse/client/errors.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import type { Shard } from "./shard.ts";

/** A connection that names its cluster. */
export type ClusterConnection = ClickHouseConnection & { readonly cluster: string };

const clusterShards = defineQuery({
  name: "cluster-shards",
  sql: `SELECT toUInt32(shard_num) AS number, toUInt32(any(shard_weight)) AS weight,
      arrayMap(one -> one.2, arraySort(groupArray((replica_num, host_name)))) AS hosts
    FROM system.clusters WHERE cluster = {cluster:String} GROUP BY shard_num ORDER BY shard_num`,
  params: z.object({ cluster: z.string() }),
  row: z.object({ number: z.int(), weight: z.int(), hosts: z.array(z.string()) }),
});

/**
 * The shards of a cluster, in order, as a server's configuration lists them.
 * @throws StoreError when the server knows no such cluster, or its shards have different numbers of replicas.
 */
export async function readShards(client: ClickHouseClient, cluster: string): Promise<readonly Shard[]> {
  const shards = await run(client, clusterShards, { cluster });
  const [first] = shards;
  if (first === undefined) {
    throw new StoreError(
      `ClickHouse knows no cluster ${cluster}: list its servers under remote_servers, or correct CLICKHOUSE_CLUSTER`,
    );
  }
  const other = shards.find(({ hosts }) => hosts.length !== first.hosts.length);
  if (other !== undefined) {
    throw new StoreError(
      `the cluster ${cluster} has ${first.hosts.length} replicas of shard ${first.number} and ${other.hosts.length} of ` +
        `shard ${other.number}: give each shard as many`,
    );
  }
  return shards;
}

/**
 * The same, from the first server of a connection that answers.
 * @param connectTo makes a client of one server.
 */
export async function askForShards(
  { cluster, otherUrls = [], ...server }: ClusterConnection,
  connectTo: (server: ClickHouseConnection) => ClickHouseClient,
): Promise<readonly Shard[]> {
  const [url, ...others] = [server.url, ...otherUrls];
  const client = connectTo({ ...server, url });
  try {
    return await readShards(client, cluster);
  } catch (error) {
    if (others.length === 0 || !isTransient(error)) throw error;
    const [next = "", ...rest] = others;
    return await askForShards({ ...server, cluster, url: next, otherUrls: rest }, connectTo);
  } finally {
    await client.close();
  }
}

/**
 * A connection to each server by itself, shard by shard: at the same protocol and port as the configured one.
 */
export function connectionsOf(
  { url: first, username, password, database }: ClickHouseConnection,
  shards: readonly Shard[],
): readonly (readonly ClickHouseConnection[])[] {
  const connectionTo = (host: string): ClickHouseConnection => {
    const url = new URL(first);
    url.hostname = host.includes(":") ? `[${host}]` : host;
    return { url: url.href, username, password, database };
  };
  return shards.map(({ hosts }) => hosts.map(connectionTo));
}
