import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { pick, reported, type StoredObservation } from "@noisefloor/clickhouse/observations/observation-columns.ts";
import { DATASETS, type Scope } from "@noisefloor/domain/access/scope.ts";
import { type AddressObservation, CURSOR, type Position, SHOWN_MEMBERS } from "./observations-operation.ts";
import { readObservations, readPositions } from "./observations-query.ts";
import type { OfAddress } from "./queries.ts";

/** Before all observations. */
const NEWEST: Position = { at: Date.UTC(2200, 0), tie: "" };

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
  return { observations, cursor: rows.length < positions.length ? CURSOR.format({ at: end.at, tie: end.tie }) : "" };
}

function isIn(scopes: readonly Scope[], { dataset, workspace_id }: StoredObservation): boolean {
  return scopes.some((scope) => scope.dataset === dataset && scope.workspaceId === workspace_id);
}

function toWire(
  row: StoredObservation,
  isNamed: boolean,
  catalogue: ObservationsDeps["catalogue"],
): AddressObservation {
  const { sensor_id, observation_id, session_id, http, tls, ssh } = row;
  return {
    observed_at: new Date(row.began_at).toISOString(),
    dataset: DATASETS.find((dataset) => dataset === row.dataset) ?? "global",
    established: row.established,
    ...(isNamed && reported({ sensor_id, observation_id, session_id })),
    ...reported({ ...pick(row, SHOWN_MEMBERS), http: reported(http), tls: reported(tls), ssh: reported(ssh) }),
    ...(row.callbacks.length > 0 && { callbacks: row.callbacks.map(toCallback) }),
    tags: [...new Set(row.tags)].flatMap((id) => {
      const tag = catalogue.byId(id);
      if (tag === undefined) return [];
      const { slug, name, intention } = tag;
      return [{ id, slug, name, intention, given_by: giverOf(id, row) }];
    }),
  };
}

function toCallback({ host, port, scheme, path, sha256 }: StoredObservation["callbacks"][number]) {
  return { host, ...(port !== 0 && { port }), scheme, ...reported({ path, sha256 }) };
}

function giverOf(id: string, { rule_tags, shared_tags }: StoredObservation) {
  if (!rule_tags.includes(id)) return "sensor";
  return shared_tags.includes(id) ? "both" : "rule";
}
