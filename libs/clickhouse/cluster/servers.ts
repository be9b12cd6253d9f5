import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import type { ClickHouseConnection } from "../client/connection.ts";
import { StoreError } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";
import { clusterOf } from "./cluster.ts";

/** A shard of a cluster. Rows go to it in proportion to its weight. */
export type Shard = {
  readonly number: number;
  readonly weight: number;
  /** Its servers, in the order of the configuration. Each has all its rows. */
  readonly hosts: readonly string[];
};

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

export const hasReplicas = (shards: readonly Shard[]) => shards.some(({ hosts }) => hosts.length > 1);

/** Those of the cluster that a client works on; undefined for a client of a single server. */
export async function readOwnShards(client: ClickHouseClient): Promise<readonly Shard[] | undefined> {
  const cluster = clusterOf(client);
  return cluster && readShards(client, cluster.name);
}

/**
 * A connection to each server by itself, shard by shard: at the same protocol and port as the configured one.
 */
export function connectionsOf(
  connection: ClickHouseConnection,
  shards: readonly Shard[],
): readonly (readonly ClickHouseConnection[])[] {
  const connectionTo = (host: string): ClickHouseConnection => {
    const url = new URL(connection.url);
    url.hostname = host.includes(":") ? `[${host}]` : host;
    return { ...connection, url: url.href, cluster: undefined };
  };
  return shards.map(({ hosts }) => hosts.map(connectionTo));
}

/** The index of the shard that has each remainder of a division by the sum of all weights. */
export function slotsOf(shards: readonly Shard[]): readonly number[] {
  return shards.flatMap(({ weight }, index) => Array.from({ length: weight }, () => index));
}

/**
 * Which shard has an address (an unsigned 32-bit integer), as an index into the shards: what `observations` says in the
 * table registry, as the Distributed tables read it. Always 0 when there are no shards.
 */
export function shardOfAddress(shards: readonly Shard[]): (address: number) => number {
  const slots = slotsOf(shards);
  return (address) => (slots.length === 0 ? 0 : (slots[address % slots.length] ?? 0));
}
