import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import type { ReplicaState } from "../replicas/choose.ts";
import { readReplicaState } from "../replicas/replica-cache.ts";
import { readOwnShards } from "./client.ts";

/** A server of a shard that has several, and how it is now. */
export type ReplicaReport = { readonly shard: number; readonly host: string; readonly state: ReplicaState };

/** The servers of a cluster whose shards have replicas; none of any other store. */
export async function readReplicas(client: ClickHouseClient): Promise<readonly ReplicaReport[]> {
  const layout = (await readOwnShards(client)) ?? [];
  const servers = await client.servers();
  const reports = layout.flatMap(({ number, hosts }, shard) =>
    hosts.length < 2
      ? []
      : hosts.map(async (host, replica) => {
          const server = servers[shard]?.[replica];
          const state = server && (await readReplicaState(server));
          return { shard: number, host, state: state ?? "away" };
        }),
  );
  return Promise.all(reports);
}
