import { setTimeout as sleep } from "node:timers/promises";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client.ts";
import { isTransient } from "@noisefloor/clickhouse/errors.ts";
import { toDateTime64 } from "@noisefloor/clickhouse/query.ts";
import type { Accepted } from "@noisefloor/domain/observation.ts";

/** A row of the table `observations`. */
export type ObservationRow = ReturnType<typeof toRow>;

/** An accepted observation as its row. What it does not say is left out: the columns' defaults stand for it. */
export function toRow({ observation, observedAt }: Accepted, observationId: string, tagIds: readonly string[]) {
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

/** Stores rows; when it resolves they can be read. Must be idempotent: the same rows may come again in other batches. */
export type InsertObservations = (rows: readonly ObservationRow[]) => Promise<void>;

/** How long to go on trying while the server cannot be reached or is overloaded. */
export type RetryTerms = {
  readonly forMs: number;
};

/**
 * Inserts into ClickHouse and tries again while the failure is a passing one. Rejects with the last error when the
 * time is up or the server refuses for good.
 */
export function insertInto(client: ClickHouseClient, retry: RetryTerms): InsertObservations {
  return async (rows) => {
    if (rows.length === 0) return;
    const deadline = Date.now() + retry.forMs;
    for (let attempt = 1; ; attempt++) {
      try {
        await client.insert({ table: "observations", values: rows, format: "JSONEachRow" });
        return;
      } catch (error) {
        const pause = Math.min(5_000, 100 * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);
        if (!isTransient(error) || Date.now() + pause > deadline) throw error;
        await sleep(pause);
      }
    }
  };
}
