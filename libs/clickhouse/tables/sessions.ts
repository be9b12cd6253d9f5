import type { ClickHouseClient } from "@clickhouse/client";
import { chunksOf } from "@noisefloor/domain/chunks.ts";
import { z } from "zod";
import { defineQuery, run } from "../client/query.ts";

/** Its parameters are part of the request's line, which the server bounds. */
const PER_QUERY = { items: 2_000, bytes: 256 * 1024 };

const text = z.string();
const texts = z.array(z.string());

const storedSessions = defineQuery({
  name: "stored-sessions",
  sql: `
    SELECT observation_id, toUnixTimestamp64Milli(observed_at) AS began_at, dataset, workspace_id, sensor_id,
      toString(source_ip) AS ip, source_port, destination_port, transport, tags, rule_tags, shared_tags, labels, application,
      session_id, arrayMap(part -> toString(part), session_parts) AS parts, credentials, login_attempts,
      commands, urls, payload_sha256, http_method, http_host, http_path, http_query, http_user_agent, http_referer,
      http_headers, http_cookies, http_header_lines, http_body_head, http_body_sha256, tls_ja3, tls_ja4, ssh_hassh, ssh_banner, asn,
      organization, country, region, city, latitude, longitude, rdns, metadata
    FROM observations
    WHERE source_ip IN {ips:Array(IPv4)} AND observation_id IN {ids:Array(String)}
      AND observed_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
      AND observed_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    ORDER BY received_at DESC
    LIMIT 1 BY source_ip, dataset, workspace_id, sensor_id, observation_id`,
  params: z.object({ ips: texts, ids: texts, from: z.int(), to: z.int() }),
  row: z.object({
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
    metadata: text,
  }),
});

/** The row of a session, as it was last stored; `began_at` in milliseconds since 1970 UTC. */
export type StoredSession = z.output<(typeof storedSessions)["row"]>;

/** A session to look for: its source and the id that its row is stored under. */
export type SessionAddress = { readonly sourceIp: string; readonly observationId: string };

/** Reads sessions that began between two times, in milliseconds since 1970 UTC. */
export async function readSessions(
  client: ClickHouseClient,
  sessions: readonly SessionAddress[],
  { from, to }: { readonly from: number; readonly to: number },
): Promise<StoredSession[]> {
  const found: StoredSession[] = [];
  for (const some of chunksOf(sessions, ({ observationId }) => observationId.length * 3 + 20, PER_QUERY)) {
    const ips = [...new Set(some.map(({ sourceIp }) => sourceIp))];
    const ids = [...new Set(some.map(({ observationId }) => observationId))];
    found.push(...(await run(client, storedSessions, { ips, ids, from, to })));
  }
  return found;
}
