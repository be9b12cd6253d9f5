import type { ClickHouseClient } from "@clickhouse/client";

/** A ClickHouse cluster by its name in `remote_servers`, and the database of that name on each of its servers. */
export type Cluster = {
  readonly name: string;
  readonly database: string;
  /** A client of each server by itself. They close with the cluster's own. */
  servers(): Promise<readonly ClickHouseClient[]>;
};

const clusters = new WeakMap<ClickHouseClient, Cluster>();

/** The cluster that a client works on; undefined for a client of a single server. */
export function clusterOf(client: ClickHouseClient): Cluster | undefined {
  return clusters.get(client);
}

/** A client of each server of a client's cluster by itself, for what has to be done where the rows are. */
export async function serversOf(client: ClickHouseClient): Promise<readonly ClickHouseClient[]> {
  return clusterOf(client)?.servers() ?? [client];
}

export function setCluster(client: ClickHouseClient, cluster: Cluster): void {
  clusters.set(client, cluster);
}
