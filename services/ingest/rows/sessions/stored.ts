import type { StoredObservation } from "@noisefloor/clickhouse/observations/observation-columns.ts";
import type { StoredSession } from "@noisefloor/clickhouse/observations/sessions.ts";
import { DATASETS } from "@noisefloor/domain/access/scope.ts";
import { observationSchema } from "@noisefloor/domain/observation/schema.ts";
import type { SessionState } from "./merge.ts";

/**
 * The observation of a stored row, without its body; undefined when the row does not fit the wire schema, as after an
 * earlier version.
 */
export function toObservation(row: StoredObservation): SessionState["observation"] | undefined {
  const parsed = observationSchema.safeParse({
    observed_at: new Date(row.began_at).toISOString(),
    sensor_id: row.sensor_id,
    source_ip: row.ip,
    dataset: row.dataset,
    ...(row.login_attempts > 0 && { login_attempts: row.login_attempts }),
    ...known({
      session_id: row.session_id,
      workspace_id: row.workspace_id,
      source_port: row.source_port,
      destination_port: row.destination_port,
      transport: row.transport,
      labels: row.labels,
      application: row.application,
      credentials: row.credentials.map(({ username, password }) => known({ username, password })),
      commands: row.commands,
      urls: row.urls,
      payload_sha256: row.payload_sha256,
      http: known({
        method: row.http_method,
        host: row.http_host,
        path: row.http_path,
        query: row.http_query,
        user_agent: row.http_user_agent,
        referer: row.http_referer,
        headers: row.http_headers,
        cookies: row.http_cookies,
        header_lines: row.http_header_lines,
      }),
      tls: known({ ja3: row.tls_ja3, ja4: row.tls_ja4 }),
      ssh: known({ hassh: row.ssh_hassh, banner: row.ssh_banner }),
      asn: row.asn === 0 ? null : row.asn,
      organization: row.organization,
      country: row.country,
      region: row.region,
      city: row.city,
      rdns: row.rdns,
      rdns_validated: row.rdns_validated || null,
      metadata: row.metadata === "" ? null : JSON.parse(row.metadata),
    }),
    ...((row.latitude !== 0 || row.longitude !== 0) && { latitude: row.latitude, longitude: row.longitude }),
  });
  const dataset = DATASETS.find((name) => name === row.dataset);
  if (!parsed.success || dataset === undefined) return undefined;
  return { ...parsed.data, sensor_id: row.sensor_id, dataset };
}

/** The session of a stored row; undefined when {@link toObservation} knows none. */
export function toSession(row: StoredSession): SessionState | undefined {
  const observation = toObservation(row);
  if (observation === undefined) return undefined;
  return {
    observationId: row.observation_id,
    observation,
    observedAt: row.began_at,
    parts: new Set(row.parts),
    tagIds: senderTags(row),
    ruleTagIds: new Set(row.rule_tags),
    storedAt: row.stored_at,
    body: row.http_body_sha256 === "" ? undefined : { head: row.http_body_head, sha256: row.http_body_sha256 },
  };
}

/** The tags of a row that its sender named. */
export function senderTags(row: Pick<StoredSession, "tags" | "rule_tags" | "shared_tags">): string[] {
  const byRulesOnly = new Set(row.rule_tags.filter((id) => !row.shared_tags.includes(id)));
  return row.tags.filter((id) => !byRulesOnly.has(id));
}

/** Without the members that the row does not know: its columns' defaults. */
function known(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isKnown = (value: unknown) =>
    value !== null && value !== "" && !(typeof value === "object" && value !== null && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isKnown(value)));
}
