import { z } from "zod";

/** Columns that a stored row has by other names than the table. */
export const RENAMED_COLUMNS = `
  toUnixTimestamp64Milli(observed_at) AS began_at, toString(source_ip) AS ip,
  arrayMap(part -> toString(part), session_parts) AS parts`;

/** What a stored row says of its observation, for a SELECT: all but when it was received. */
export const OBSERVATION_COLUMNS = `${RENAMED_COLUMNS},
  observation_id, dataset, workspace_id, sensor_id, source_port, destination_port, transport, tags, rule_tags,
  shared_tags, labels, application, session_id, credentials, login_attempts, commands, urls, payload_sha256,
  http_method, http_host, http_path, http_query, http_user_agent, http_referer, http_headers, http_cookies,
  http_header_lines, http_body_head, http_body_sha256, tls_ja3, tls_ja4, ssh_hassh, ssh_banner, asn, organization,
  country, region, city, latitude, longitude, rdns, rdns_validated, metadata`;

const text = z.string();
const texts = z.array(z.string());

export const observationColumns = z.object({
  observation_id: text,
  began_at: z.int(),
  dataset: text,
  workspace_id: text,
  sensor_id: text,
  ip: text,
  source_port: z.int().nullable(),
  destination_port: z.int().nullable(),
  transport: text,
  tags: texts,
  rule_tags: texts,
  shared_tags: texts,
  labels: texts,
  application: text,
  session_id: text,
  parts: texts,
  credentials: z.array(z.object({ username: text, password: text })),
  login_attempts: z.int(),
  commands: texts,
  urls: texts,
  payload_sha256: texts,
  http_method: text,
  http_host: text,
  http_path: text,
  http_query: text,
  http_user_agent: text,
  http_referer: text,
  http_headers: texts,
  http_cookies: texts,
  http_header_lines: texts,
  http_body_head: text,
  http_body_sha256: text,
  tls_ja3: text,
  tls_ja4: text,
  ssh_hassh: text,
  ssh_banner: text,
  asn: z.int(),
  organization: text,
  country: text,
  region: text,
  city: text,
  latitude: z.number(),
  longitude: z.number(),
  rdns: text,
  rdns_validated: z.boolean(),
  metadata: text,
});

/** A stored row; `began_at` is its time in milliseconds since 1970 UTC. */
export type StoredObservation = z.output<typeof observationColumns>;
