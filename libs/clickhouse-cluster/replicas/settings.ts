import type { ClickHouseSettings } from "@clickhouse/client";

/** A replica that lacks rows which were inserted longer ago is behind. */
export const MAX_DELAY_SECONDS = 5;

/** A replica that takes longer to fetch what is inserted counts as behind by then, and is not waited for again. */
const QUORUM_TIMEOUT_MS = 6_000;

/**
 * Lets an insert end when the given number of replicas has the rows, in the table and in those of its views: each
 * replica that answers questions then answers with them, and they outlast one disk.
 */
export function storingOn(replicas: number): ClickHouseSettings {
  return replicas < 2 ? {} : { insert_quorum: String(replicas), insert_quorum_timeout: QUORUM_TIMEOUT_MS };
}

const CONNECT_TIMEOUT_MS = 5_000;

/** Lets a server ask the replica with this index of every shard, itself or not, and another one if that is away. */
export function askingReplica(replica: number): ClickHouseSettings {
  return {
    load_balancing: "first_or_random",
    load_balancing_first_offset: String(replica),
    prefer_localhost_replica: 0,
    // ClickHouse would ask another replica too when this one is slow, and take the answer that comes first.
    use_hedged_requests: 0,
    // Nor should it ask another one for a connection that takes its time: what is away is known to be.
    connect_timeout_with_failover_ms: CONNECT_TIMEOUT_MS,
    // ClickHouse would go on avoiding a replica whose errors are past, and ask another one.
    distributed_replica_error_half_life: 0,
    max_replica_delay_for_distributed_queries: String(MAX_DELAY_SECONDS),
    fallback_to_stale_replicas_for_distributed_queries: 0,
  };
}
