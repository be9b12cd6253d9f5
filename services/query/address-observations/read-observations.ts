import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { StoredObservation } from "@noisefloor/clickhouse/observations/observation-columns.ts";
import { DATASETS, type Scope } from "@noisefloor/domain/access/scope.ts";
import type { AddressObservation } from "./observations-operation.ts";
import { readObservations, readPositions } from "./observations-query.ts";
import { formatPosition, NEWEST, type Position } from "./position.ts";
import type { OfAddress } from "./queries.ts";

export type ObservationsQuery = OfAddress & {
  readonly limit: number;
  readonly after: Position | undefined;
  /** Whose sensors the caller may know by name. */
  readonly namedScopes: readonly Scope[];
};

type ObservationsDeps = { readonly read: Read; readonly catalogue: Pick<TagCatalogue, "byId"> };

/** Reads a page of the observations of an address, newest first. */
export async function readAddressObservations(
  { limit, after = NEWEST, namedScopes, ...ofAddress }: ObservationsQuery,
  { read, catalogue }: ObservationsDeps,
  signal: AbortSignal,
) {
  // One more than the page has: whether another page follows.
  const positions = await read(readPositions, { ...ofAddress, ...after, limit: limit + 1 }, signal);
  const last = positions.slice(0, limit).at(-1);
  if (last === undefined) return { observations: [], cursor: "" };
  const rows = await read(readObservations, { ...ofAddress, ...after, limit, oldest: last.at }, signal);
  // Observations may have been removed since the positions were read.
  const end = rows.at(-1) ?? last;
  const observations = rows.map((row) => toWire(row, isIn(namedScopes, row), catalogue));
  return { observations, cursor: rows.length < positions.length ? formatPosition(end) : "" };
}

function isIn(scopes: readonly Scope[], { dataset, workspace_id }: StoredObservation): boolean {
  return scopes.some((scope) => scope.dataset === dataset && scope.workspaceId === workspace_id);
}

function toWire(
  row: StoredObservation,
  isNamed: boolean,
  catalogue: ObservationsDeps["catalogue"],
): AddressObservation {
  const { observation_id, sensor_id, session_id, credentials } = row;
  return {
    observed_at: new Date(row.began_at).toISOString(),
    dataset: DATASETS.find((dataset) => dataset === row.dataset) ?? "global",
    ...(isNamed && known({ sensor_id, observation_id, session_id })),
    ...known({
      source_port: row.source_port,
      destination_port: row.destination_port,
      transport: row.transport,
      application: row.application,
      login_attempts: row.login_attempts === 0 ? undefined : row.login_attempts,
      credentials,
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
        header_lines: row.http_header_lines,
        cookies: row.http_cookies,
        body_head: row.http_body_head,
        body_sha256: row.http_body_sha256,
      }),
      tls: known({ ja3: row.tls_ja3, ja4: row.tls_ja4 }),
      ssh: known({ hassh: row.ssh_hassh, banner: row.ssh_banner }),
      labels: row.labels,
    }),
    tags: [...new Set(row.tags)].flatMap((id) => {
      const tag = catalogue.byId(id);
      if (tag === undefined) return [];
      const { slug, name, intention } = tag;
      return [{ id, slug, name, intention, given_by: giverOf(id, row) }];
    }),
  };
}

function giverOf(id: string, { rule_tags, shared_tags }: StoredObservation) {
  if (!rule_tags.includes(id)) return "sensor";
  return shared_tags.includes(id) ? "both" : "rule";
}

type Known<T> = { [Name in keyof T]?: NonNullable<T[Name]> };

/** Without the members that the sensor did not report. */
function known<T extends Record<string, unknown>>(members: T): Known<T> {
  const present: Known<T> = {};
  for (const name in members) {
    const value = members[name];
    if (isReported(value)) present[name] = value;
  }
  return present;
}

function isReported<T>(value: T): value is NonNullable<T> {
  if (value === null || value === undefined || value === "") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}
