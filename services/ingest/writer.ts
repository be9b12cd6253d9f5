import type { ClickHouseClient } from "@noisefloor/clickhouse/client.ts";
import { toDateTime64 } from "@noisefloor/clickhouse/query.ts";
import type { ValidObservation } from "@noisefloor/domain/observation.ts";
import type { InsertObservations } from "./insert-queue.ts";

/** A row of the table `observations`. */
export type ObservationRow = ReturnType<typeof toRow>;

/** An accepted observation as its row. What it does not say is left out: the columns' defaults stand for it. */
export function toRow({ observation, observedAt }: ValidObservation, observationId: string, tagIds: readonly string[]) {
  const { http, tls, ssh, metadata } = observation;
  return {
    observation_id: observationId,
    observed_at: toDateTime64(observedAt),
    dataset: observation.dataset,
    workspace_id: observation.workspace_id,
    sensor_id: observation.sensor_id,
    source_ip: observation.source_ip,
    source_port: observation.source_port,
    destination_port: observation.destination_port,
    transport: observation.transport,
    tags: tagIds,
    http_method: http?.method,
    http_host: http?.host,
    http_path: http?.path,
    http_user_agent: http?.user_agent,
    tls_ja3: tls?.ja3,
    tls_ja4: tls?.ja4,
    ssh_hassh: ssh?.hassh,
    ssh_banner: ssh?.banner,
    asn: observation.asn,
    organization: observation.organization,
    country: observation.country,
    city: observation.city,
    rdns: observation.rdns,
    metadata: metadata === undefined ? undefined : JSON.stringify(metadata),
  };
}

/**
 * Inserts into ClickHouse; when it resolves, the rows and all that is derived from them can be read.
 * @param requireSpace throws while the store must not grow.
 */
export function insertInto(client: ClickHouseClient, requireSpace: () => void = () => {}): InsertObservations {
  return async (rows, token) => {
    requireSpace();
    await client.insert({
      table: "observations",
      values: rows,
      format: "JSONEachRow",
      clickhouse_settings: {
        insert_deduplication_token: token,
        // Else an insert whose answer was lost would be repeated in the rollups, though not in the table itself.
        deduplicate_blocks_in_dependent_materialized_views: 1,
      },
    });
  };
}
