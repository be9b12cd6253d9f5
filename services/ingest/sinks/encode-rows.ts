import { setImmediate as nextTurn } from "node:timers/promises";
import { RowDataError } from "@noisefloor/clickhouse/client/errors.ts";
import { type RowBinaryWriter, rowBinaryWriter } from "@noisefloor/clickhouse/client/row-binary.ts";
import type { ObservationRow } from "../observation-row.ts";

type Column = keyof ObservationRow;
type WriteColumn = (to: RowBinaryWriter, row: ObservationRow) => void;
type Columns<Name extends Column = Column> = Readonly<Record<Name, WriteColumn>>;

/** What no two rows have in common. */
const VISIT = {
  observation_id: (to, row) => to.text(row.observation_id),
  observed_at: (to, row) => to.time(row.observed_at),
  source_port: (to, row) => to.nullableUint16(row.source_port),
  session_id: (to, row) => to.text(row.session_id),
  session_parts: (to, row) => to.uint64s(row.session_parts),
} satisfies Partial<Columns>;

/** Of who has seen it. */
const SENSOR = {
  dataset: (to, row) => to.text(row.dataset),
  workspace_id: (to, row) => to.text(row.workspace_id),
  sensor_id: (to, row) => to.text(row.sensor_id),
  metadata: (to, row) => to.text(row.metadata),
} satisfies Partial<Columns>;

/** Of who was seen. */
const SOURCE = {
  source_ip: (to, row) => to.ipv4(row.source_ip),
  asn: (to, row) => to.uint32(row.asn),
  organization: (to, row) => to.text(row.organization),
  country: (to, row) => to.text(row.country),
  region: (to, row) => to.text(row.region),
  city: (to, row) => to.text(row.city),
  latitude: (to, row) => to.float32(row.latitude),
  longitude: (to, row) => to.float32(row.longitude),
  rdns: (to, row) => to.text(row.rdns),
  rdns_validated: (to, row) => to.bool(row.rdns_validated),
} satisfies Partial<Columns>;

const TAGS = {
  tags: (to, row) => to.uuids(row.tags),
  rule_tags: (to, row) => to.uuids(row.rule_tags),
  shared_tags: (to, row) => to.uuids(row.shared_tags),
} satisfies Partial<Columns>;

/** Of what was sent: all other columns. */
const CONTENT = {
  destination_port: (to, row) => to.nullableUint16(row.destination_port),
  transport: (to, row) => to.text(row.transport),
  labels: (to, row) => to.texts(row.labels),
  application: (to, row) => to.text(row.application),
  credentials: (to, row) => to.pairs(row.credentials?.map(({ username, password }) => [username, password])),
  login_attempts: (to, row) => to.uint32(row.login_attempts),
  commands: (to, row) => to.texts(row.commands),
  urls: (to, row) => to.texts(row.urls),
  payload_sha256: (to, row) => to.texts(row.payload_sha256),
  http_method: (to, row) => to.text(row.http_method),
  http_host: (to, row) => to.text(row.http_host),
  http_path: (to, row) => to.text(row.http_path),
  http_query: (to, row) => to.text(row.http_query),
  http_user_agent: (to, row) => to.text(row.http_user_agent),
  http_referer: (to, row) => to.text(row.http_referer),
  http_headers: (to, row) => to.texts(row.http_headers),
  http_cookies: (to, row) => to.texts(row.http_cookies),
  http_header_lines: (to, row) => to.texts(row.http_header_lines),
  http_body_head: (to, row) => to.text(row.http_body_head),
  http_body_sha256: (to, row) => to.text(row.http_body_sha256),
  tls_ja3: (to, row) => to.text(row.tls_ja3),
  tls_ja4: (to, row) => to.text(row.tls_ja4),
  ssh_hassh: (to, row) => to.text(row.ssh_hassh),
  ssh_banner: (to, row) => to.text(row.ssh_banner),
} satisfies Columns<
  Exclude<Column, keyof typeof VISIT | keyof typeof SENSOR | keyof typeof SOURCE | keyof typeof TAGS>
>;

const GROUPS = { visit: VISIT, sensor: SENSOR, source: SOURCE, tags: TAGS, content: CONTENT } as const;

/** Columns whose bytes stand together, so that those of what many rows share can be written once and copied. */
export type ColumnGroup = keyof typeof GROUPS;
const writers: Readonly<Record<ColumnGroup, readonly WriteColumn[]>> = {
  visit: Object.values(VISIT),
  sensor: Object.values(SENSOR),
  source: Object.values(SOURCE),
  tags: Object.values(TAGS),
  content: Object.values(CONTENT),
};
const allWriters = Object.values(writers).flat();

/** Columns of a row in the order of its bytes, for an INSERT: the groups in their order. */
export const ENCODED_COLUMNS = Object.values(GROUPS).flatMap((columns) => Object.keys(columns));

export function writeGroup(group: ColumnGroup, to: RowBinaryWriter, row: ObservationRow): void {
  for (const write of writers[group]) write(to, row);
}

/** Others get their turn after each piece. Rejects with a {@link RowDataError} when a row has no bytes. */
export type EncodeRows<Row> = (rows: readonly Row[]) => Promise<readonly Buffer[]>;

/** What is encoded before others get a turn: some milliseconds of work. */
const PIECE = { rows: 2_000, bytes: 2 * 1024 * 1024 };

/** Makes a function that writes rows in ClickHouse's format RowBinary, which the server reads in half the time of JSON. */
export function rowEncoder(): EncodeRows<ObservationRow> {
  const to = rowBinaryWriter();
  const write = (row: ObservationRow) => {
    for (const writeColumn of allWriters) writeColumn(to, row);
  };
  return (rows) => encodeInPieces(rows, { to, write, idOf: (row) => row.observation_id });
}

export type PiecesOptions<Row> = {
  /** Not used by others before the promise is settled, except by calls with the same one. */
  readonly to: RowBinaryWriter;
  readonly write: (row: Row) => void;
  /** How an error names a row. */
  readonly idOf: (row: Row) => string;
};

/** Encodes rows piece by piece. */
export async function encodeInPieces<Row>(rows: readonly Row[], options: PiecesOptions<Row>): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let at = 0; at < rows.length; ) {
    if (at > 0) await nextTurn();
    const { piece, next } = encodePiece(rows, at, options);
    pieces.push(piece);
    at = next;
  }
  return pieces;
}

/** Not interrupted by others, who use the same memory. @returns the piece, and the first row after it. */
function encodePiece<Row>(rows: readonly Row[], first: number, { to, write, idOf }: PiecesOptions<Row>) {
  to.clear();
  let next = first;
  while (next < rows.length && next < first + PIECE.rows && to.length() < PIECE.bytes) {
    const row = rows[next++];
    if (row === undefined) continue;
    try {
      write(row);
    } catch (error) {
      // A row that cannot be stored must not hold up the others, so the error says that the row is the reason.
      const detail = error instanceof Error ? error.message : String(error);
      throw new RowDataError(`the observation ${idOf(row)} has no form that ClickHouse can store: ${detail}`);
    }
  }
  return { piece: to.copy(), next };
}
