import type { ValueWriter } from "@noisefloor/clickhouse/row-binary/value-writer.ts";
import {
  BOOL,
  FLOAT32,
  IPV4,
  NULLABLE_UINT16,
  PAIRS,
  TEXT,
  TEXTS,
  TIME,
  UINT32,
  UINT64S,
  UUIDS,
  type WrittenType,
} from "@noisefloor/clickhouse/row-binary/written-types.ts";
import type { ObservationRow } from "../rows/observation-row.ts";

type ColumnName = Exclude<keyof ObservationRow, "replaces_stored_at">;

/** How a column is written. */
type Column = {
  /** Of ClickHouse. */
  readonly type: string;
  /** A row's value in the format RowBinary. */
  write(to: ValueWriter, row: ObservationRow): void;
  /** The values of some rows in the format Native. */
  writeAll(to: ValueWriter, rows: readonly ObservationRow[]): void;
};
type Columns<Name extends ColumnName = ColumnName> = Readonly<Record<Name, Column>>;

function column<Value>(type: WrittenType<Value>, read: (row: ObservationRow) => Value | undefined): Column {
  return {
    type: type.name,
    write: (to, row) => type.write(to, read(row)),
    writeAll(to, rows) {
      // Sensors of one kind leave out most members.
      if (rows.some((row) => read(row) !== undefined)) type.writeAll(to, rows.map(read));
      else type.writeDefaults(to, rows.length);
    },
  };
}

/** What no two rows have in common. */
const VISIT = {
  observation_id: column(TEXT, (row) => row.observation_id),
  observed_at: column(TIME, (row) => row.observed_at),
  source_port: column(NULLABLE_UINT16, (row) => row.source_port),
  session_id: column(TEXT, (row) => row.session_id),
  session_parts: column(UINT64S, (row) => row.session_parts),
} satisfies Partial<Columns>;

/** Of who has seen it. */
const SENSOR = {
  dataset: column(TEXT, (row) => row.dataset),
  workspace_id: column(TEXT, (row) => row.workspace_id),
  sensor_id: column(TEXT, (row) => row.sensor_id),
  format: column(TEXT, (row) => row.format),
  metadata: column(TEXT, (row) => row.metadata),
} satisfies Partial<Columns>;

/** Of who was seen. */
const SOURCE = {
  source_ip: column(IPV4, (row) => row.source_ip),
  asn: column(UINT32, (row) => row.asn),
  organization: column(TEXT, (row) => row.organization),
  country: column(TEXT, (row) => row.country),
  region: column(TEXT, (row) => row.region),
  city: column(TEXT, (row) => row.city),
  latitude: column(FLOAT32, (row) => row.latitude),
  longitude: column(FLOAT32, (row) => row.longitude),
  rdns: column(TEXT, (row) => row.rdns),
  rdns_validated: column(BOOL, (row) => row.rdns_validated),
} satisfies Partial<Columns>;

const TAGS = {
  tags: column(UUIDS, (row) => row.tags),
  rule_tags: column(UUIDS, (row) => row.rule_tags),
  shared_tags: column(UUIDS, (row) => row.shared_tags),
} satisfies Partial<Columns>;

/** Of what was sent: all other columns. */
const CONTENT = {
  destination_port: column(NULLABLE_UINT16, (row) => row.destination_port),
  transport: column(TEXT, (row) => row.transport),
  labels: column(TEXTS, (row) => row.labels),
  application: column(TEXT, (row) => row.application),
  credentials: column(PAIRS, (row) => row.credentials?.map(({ username, password }) => [username, password] as const)),
  login_attempts: column(UINT32, (row) => row.login_attempts),
  commands: column(TEXTS, (row) => row.commands),
  urls: column(TEXTS, (row) => row.urls),
  payload_sha256: column(TEXTS, (row) => row.payload_sha256),
  http_method: column(TEXT, (row) => row.http_method),
  http_host: column(TEXT, (row) => row.http_host),
  http_path: column(TEXT, (row) => row.http_path),
  http_query: column(TEXT, (row) => row.http_query),
  http_user_agent: column(TEXT, (row) => row.http_user_agent),
  http_referer: column(TEXT, (row) => row.http_referer),
  http_headers: column(TEXTS, (row) => row.http_headers),
  http_cookies: column(TEXTS, (row) => row.http_cookies),
  http_header_lines: column(TEXTS, (row) => row.http_header_lines),
  http_body_head: column(TEXT, (row) => row.http_body_head),
  http_body_sha256: column(TEXT, (row) => row.http_body_sha256),
  tls_ja3: column(TEXT, (row) => row.tls_ja3),
  tls_ja4: column(TEXT, (row) => row.tls_ja4),
  ssh_hassh: column(TEXT, (row) => row.ssh_hassh),
  ssh_banner: column(TEXT, (row) => row.ssh_banner),
} satisfies Columns<
  Exclude<ColumnName, keyof typeof VISIT | keyof typeof SENSOR | keyof typeof SOURCE | keyof typeof TAGS>
>;

/** All columns with their names. */
export const COLUMNS: readonly (readonly [name: string, column: Column])[] = Object.entries({
  ...VISIT,
  ...SENSOR,
  ...SOURCE,
  ...TAGS,
  ...CONTENT,
});

/**
 * When a row was received: of rows with the same key the latest counts. The server's clock says it, unless a row
 * replaces another: then it is later than that one, also after the clock was set back.
 */
const RECEIVED_AT = column(TIME, ({ replaces_stored_at: before = -1 }) => Math.max(Date.now(), before + 1));

/** The columns of an insert of some rows, with their names. */
export const columnsFor = (rows: readonly ObservationRow[]): typeof COLUMNS =>
  rows.some((row) => row.replaces_stored_at !== undefined) ? [...COLUMNS, ["received_at", RECEIVED_AT]] : COLUMNS;

/** For an INSERT of encoded rows. */
export const ENCODED_COLUMNS: readonly string[] = COLUMNS.map(([name]) => name);

/** Writes a row in the format RowBinary. */
export function writeRow(to: ValueWriter, row: ObservationRow): void {
  for (const [, { write }] of COLUMNS) write(to, row);
}
