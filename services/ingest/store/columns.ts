import type { ValueWriter } from "@noisefloor/clickhouse/row-binary/value-writer.ts";
import {
  BOOL,
  CALLBACKS,
  FLOAT32,
  IPV4,
  LOGINS,
  NULLABLE_UINT16,
  TEXT,
  TEXTS,
  TIME,
  UINT32,
  UINT64S,
  UUIDS,
  type WrittenType,
} from "@noisefloor/clickhouse/row-binary/written-types.ts";
import { FOUND, HTTP, MEMBERS, namesOf, SSH, TLS } from "@noisefloor/domain/observation/members.ts";
import type { ObservationRow } from "../rows/observation-row.ts";

/** How a column is written. */
type Column = {
  /** ClickHouse's name of the type. */
  readonly type: string;
  /** A row's value in the format RowBinary. */
  write(to: ValueWriter, row: ObservationRow): void;
  /** The values of some rows in the format Native. */
  writeAll(to: ValueWriter, rows: readonly ObservationRow[]): void;
};
type NamedColumn = readonly [name: string, column: Column];

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

const named = <Value>(
  name: string,
  type: WrittenType<Value>,
  read: (row: ObservationRow) => Value | undefined,
): NamedColumn => [name, column(type, read)];

/** The types of members that are texts, and lists of texts. */
const TEXT_TYPES = [
  "identifier",
  "dataset",
  "workspace",
  "ip_protocol",
  "protocol_name",
  "text",
  "country_code",
  "object",
] as const;
const TEXTS_TYPES = ["texts", "identifiers", "digests", "lines"] as const;

/** All columns with their names: those of members, and those that rows have besides. */
export const COLUMNS: readonly NamedColumn[] = [
  ...namesOf(MEMBERS, "time").map((name) => named(name, TIME, (row) => row[name])),
  ...namesOf(MEMBERS, "source").map((name) => named(name, IPV4, (row) => row[name])),
  ...namesOf(MEMBERS, ...TEXT_TYPES).map((name) => named(name, TEXT, (row) => row[name])),
  ...namesOf(MEMBERS, ...TEXTS_TYPES).map((name) => named(name, TEXTS, (row) => row[name])),
  ...namesOf(MEMBERS, "tags").map((name) => named(name, UUIDS, (row) => row[name])),
  ...namesOf(MEMBERS, "port").map((name) => named(name, NULLABLE_UINT16, (row) => row[name])),
  ...namesOf(MEMBERS, "count", "as_number").map((name) => named(name, UINT32, (row) => row[name])),
  ...namesOf(MEMBERS, "latitude", "longitude").map((name) => named(name, FLOAT32, (row) => row[name])),
  ...namesOf(MEMBERS, "flag").map((name) => named(name, BOOL, (row) => row[name])),
  ...namesOf(MEMBERS, "logins").map((name) => named(name, LOGINS, (row) => row[name])),
  ...namesOf(FOUND, "callbacks").map((name) => named(name, CALLBACKS, (row) => row[name])),
  ...namesOf(HTTP, "text").map((name) => named(`http_${name}`, TEXT, ({ http }) => http?.[name])),
  ...namesOf(HTTP, "texts", "lines").map((name) => named(`http_${name}`, TEXTS, ({ http }) => http?.[name])),
  named("http_body_head", TEXT, ({ body }) => body?.head),
  named("http_body_sha256", TEXT, ({ body }) => body?.sha256),
  ...namesOf(TLS, "text").map((name) => named(`tls_${name}`, TEXT, ({ tls }) => tls?.[name])),
  ...namesOf(SSH, "text").map((name) => named(`ssh_${name}`, TEXT, ({ ssh }) => ssh?.[name])),
  named("format", TEXT, ({ format }) => format),
  named("session_parts", UINT64S, (row) => row.session_parts),
  named("rule_tags", UUIDS, (row) => row.rule_tags),
  named("shared_tags", UUIDS, (row) => row.shared_tags),
];

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
