import type { ClickHouseClient } from "@clickhouse/client";
import { isTransient } from "../client/errors.ts";
import type { Shard } from "./shard.ts";

/** A ClickHouse cluster by its name in `remote_servers`, and the database of that name on each of its servers. */
export type Cluster = {
  readonly name: string;
  readonly database: string;
  /** What the configuration of its servers says of its shards. */
  layout(): Promise<readonly Shard[]>;
  /** A client of each server by itself, shard by shard. They close with the cluster's own. */
  servers(): Promise<readonly (readonly ClickHouseClient[])[]>;
  /** A client of each shard: of its only server, or of the replica that answers for it. */
  shards(): Promise<readonly ClickHouseClient[]>;
};

const clusters = new WeakMap<ClickHouseClient, Cluster>();

/** The cluster that a client works on; undefined for a client of a single server. */
export function clusterOf(client: ClickHouseClient): Cluster | undefined {
  return clusters.get(client);
}

/** A client of each server of a client's cluster by itself, for what each of them has to know. */
export async function serversOf(client: ClickHouseClient): Promise<readonly ClickHouseClient[]> {
  return (await replicasOf(client)).flat();
}

/** The same, shard by shard: the servers of a shard are replicas of each other. */
export async function replicasOf(client: ClickHouseClient): Promise<readonly (readonly ClickHouseClient[])[]> {
  return clusterOf(client)?.servers() ?? [[client]];
}

/** A client of each shard of a client's cluster by itself, for what has to be done where the rows are. */
export async function shardsOf(client: ClickHouseClient): Promise<readonly ClickHouseClient[]> {
  return clusterOf(client)?.shards() ?? [client];
}

/**
 * Asks every server. One that is away is left out when another replica of its shard answers.
 * @throws the error of a shard none of whose servers answered, or that of a server that answered with one.
 */
export async function askServers<T>(
  client: ClickHouseClient,
  ask: (server: ClickHouseClient) => Promise<T>,
): Promise<readonly T[]> {
  const answers = (await replicasOf(client)).map(async (replicas) => {
    const ended = await Promise.allSettled(replicas.map(ask));
    const answered = ended.filter((one) => one.status === "fulfilled").map(({ value }) => value);
    const failed = ended.filter((one) => one.status === "rejected").map(({ reason }) => reason);
    const broken = failed.find((reason) => answered.length === 0 || !isTransient(reason));
    if (broken !== undefined) throw broken;
    return answered;
  });
  return (await Promise.all(answers)).flat();
}

export function setCluster(client: ClickHouseClient, cluster: Cluster): void {
  clusters.set(client, cluster);
}
