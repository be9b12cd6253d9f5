import type { ClickHouseSettings } from "@clickhouse/client";

/** A replica that lacks rows which were inserted longer ago is behind. */
export const MAX_DELAY_SECONDS = 5;

/** Lets a server ask the replica with this index of every shard, itself or not, and another one if that is away. */
export function askingReplica(replica: number): ClickHouseSettings {
  return {
    load_balancing: "first_or_random",
    load_balancing_first_offset: String(replica),
    prefer_localhost_replica: 0,
    // ClickHouse would go on avoiding a replica whose errors are past, and ask another one.
    distributed_replica_error_half_life: 0,
    max_replica_delay_for_distributed_queries: String(MAX_DELAY_SECONDS),
    fallback_to_stale_replicas_for_distributed_queries: 0,
  };
}
