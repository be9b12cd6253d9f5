import { pick, reported, type StoredObservation } from "@noisefloor/clickhouse/observations/observation-columns.ts";
import type { StoredSession } from "@noisefloor/clickhouse/observations/sessions.ts";
import { DATASETS } from "@noisefloor/domain/access/scope.ts";
import { MEMBERS, namesOf } from "@noisefloor/domain/observation/members.ts";
import { observationSchema } from "@noisefloor/domain/observation/schema.ts";
import type { SessionState } from "./merge.ts";

/** The members that the observation of a stored row has as the row has them. */
const STATED = [
  ...namesOf(MEMBERS, "identifier", "dataset", "workspace", "ip_protocol", "port", "protocol_name", "count", "texts"),
  ...namesOf(MEMBERS, "digests", "identifiers", "as_number", "text", "country_code", "flag"),
].filter((name) => name !== "observation_id");

/**
 * The observation of a stored row, without its body; undefined when the row does not fit the wire schema, as after an
 * earlier version.
 */
export function toObservation(row: StoredObservation): SessionState["observation"] | undefined {
  const { body_head: _head, body_sha256: _sha256, ...http } = row.http;
  const { latitude, longitude } = row;
  const parsed = observationSchema.safeParse({
    observed_at: new Date(row.began_at).toISOString(),
    source_ip: row.ip,
    ...reported({
      ...pick(row, STATED),
      credentials: row.credentials.map(reported),
      http: reported(http),
      tls: reported(row.tls),
      ssh: reported(row.ssh),
      metadata: row.metadata === "" ? null : JSON.parse(row.metadata),
    }),
    ...((latitude !== 0 || longitude !== 0) && { latitude, longitude }),
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
    callbacks: row.callbacks,
    ruleTagIds: new Set(row.rule_tags),
    storedAt: row.stored_at,
    body: row.http.body_sha256 === "" ? undefined : { head: row.http.body_head, sha256: row.http.body_sha256 },
  };
}

/** The tags of a row that its sender named. */
export function senderTags(row: Pick<StoredSession, "tags" | "rule_tags" | "shared_tags">): string[] {
  const byRulesOnly = new Set(row.rule_tags.filter((id) => !row.shared_tags.includes(id)));
  return row.tags.filter((id) => !byRulesOnly.has(id));
}
