import { toDateTime64 } from "@noisefloor/clickhouse/client/query.ts";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";

/** A row of the table `observations`. */
export type ObservationRow = ReturnType<typeof toRow>;

/** The row of an accepted observation. Members that it lacks are left out, so that the columns' defaults apply. */
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
