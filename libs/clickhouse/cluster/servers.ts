import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import type { ClickHouseConnection } from "../client/connection.ts";
import { StoreError } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";
import { clusterOf } from "./cluster.ts";

/** A shard of a cluster. Rows go to it in proportion to its weight. */
export type Shard = { readonly number: number; readonly weight: number; readonly host: string };

const clusterShards = defineQuery({
  name: "cluster-shards",
  sql: `SELECT toUInt32(shard_num) AS number, toUInt32(any(shard_weight)) AS weight, any(host_name) AS host,
      toUInt32(count()) AS replicas
    FROM system.clusters WHERE cluster = {cluster:String} GROUP BY shard_num ORDER BY shard_num`,
  params: z.object({ cluster: z.string() }),
  row: z.object({ number: z.int(), weight: z.int(), host: z.string(), replicas: z.int() }),
});

/**
 * The shards of a cluster, in order, as a server's configuration lists them.
 * @throws StoreError when the server knows no such cluster, or one of its shards has several replicas.
 */
export async function readShards(client: ClickHouseClient, cluster: string): Promise<readonly Shard[]> {
  const shards = await run(client, clusterShards, { cluster });
  if (shards.length === 0) {
    throw new StoreError(
      `ClickHouse knows no cluster ${cluster}: list its servers under remote_servers, or correct CLICKHOUSE_CLUSTER`,
    );
  }
  const replicated = shards.find(({ replicas }) => replicas > 1);
  if (replicated !== undefined) {
    throw new StoreError(
      `shard ${replicated.number} of the cluster ${cluster} has ${replicated.replicas} replicas: give each shard one server`,
    );
  }
  return shards;
}

/** Those of the cluster that a client works on; undefined for a client of a single server. */
export async function readOwnShards(client: ClickHouseClient): Promise<readonly Shard[] | undefined> {
  const cluster = clusterOf(client);
  return cluster && readShards(client, cluster.name);
}

/** A connection to the server of each shard by itself: at the same protocol and port as the configured one. */
export function connectionsOf(
  connection: ClickHouseConnection,
  shards: readonly Shard[],
): readonly ClickHouseConnection[] {
  return shards.map(({ host }) => {
    const url = new URL(connection.url);
    url.hostname = host.includes(":") ? `[${host}]` : host;
    return { ...connection, url: url.href, cluster: undefined };
  });
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
