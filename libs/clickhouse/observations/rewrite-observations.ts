import { isDeepStrictEqual } from "node:util";
import { monthAt } from "@noisefloor/domain/time/window.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { StoreError } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";
import { storingAgain } from "../client/storing-again.ts";
import { OBSERVATIONS, OWN_DATABASE } from "../client/table-names.ts";
import { observationColumns, RENAMED_COLUMNS } from "./observation-columns.ts";

/** Milliseconds since 1970 UTC; the ends are exclusive. */
export type RowFilter = { readonly from: number; readonly to: number; readonly receivedFrom: number };

/** A stored row with every column of the table, so that it can be inserted again. */
export type StoredRow = z.output<typeof storedRow>;

/** The columns that are not named here keep the values that they have. */
const storedRow = observationColumns
  .extend({ began_at: z.coerce.number().pipe(z.int()), received_at: z.string() })
  .loose();

const ORDER = "source_ip, dataset, workspace_id, observed_at, sensor_id, observation_id";

const rowsAfter = defineQuery({
  name: "observations-after",
  // 64 bits do not fit into a number of JavaScript, and the digests of session_parts have them all.
  sql: `
    SELECT *, ${RENAMED_COLUMNS} FROM ${OBSERVATIONS} FINAL
    WHERE observed_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
      AND observed_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
      AND received_at >= fromUnixTimestamp64Milli({receivedFrom:Int64}, 'UTC')
      AND source_ip >= {ip:IPv4}
      AND (${ORDER}) > ({ip:IPv4}, {dataset:String}, {workspace:String},
        fromUnixTimestamp64Milli({at:Int64}, 'UTC'), {sensor:String}, {id:String})
    ORDER BY ${ORDER}
    LIMIT {limit:UInt32}
    SETTINGS output_format_json_quote_64bit_integers = 1, optimize_move_to_prewhere_if_final = 1`,
  params: z.object({
    from: z.int(),
    to: z.int(),
    receivedFrom: z.int(),
    ip: z.string(),
    dataset: z.string(),
    workspace: z.string(),
    at: z.int(),
    sensor: z.string(),
    id: z.string(),
    limit: z.int(),
  }),
  row: storedRow,
});

const BEFORE_ALL = { ip: "0.0.0.0", dataset: "", workspace: "", at: 0, sensor: "", id: "" };
/** Rows have from some hundred bytes to 64 KiB. */
const PAGE = { first: 500, max: 20_000, bytes: 8 * 1024 * 1024 };

export type Page = {
  readonly rows: readonly StoredRow[];
  /** The rows of the page as they are now. */
  readonly reread: () => Promise<readonly StoredRow[]>;
};

/** Reads rows in the order of the table's key, a few MiB at a time. */
export async function* readRows(client: ClickHouseClient, filter: RowFilter): AsyncGenerator<Page> {
  let after = BEFORE_ALL;
  let limit = PAGE.first;
  for (;;) {
    const page = { ...filter, ...after, limit };
    const reread = () => run(client, rowsAfter, page);
    const rows = await reread();
    const last = rows.at(-1);
    if (last === undefined) return;
    yield { rows, reread };
    if (rows.length < limit) return;
    const { ip, dataset, workspace_id: workspace, began_at: at, sensor_id: sensor, observation_id: id } = last;
    after = { ip, dataset, workspace, at, sensor, id };
    const bytes = Math.max(...rows.map(sizeOf), 1);
    limit = Math.max(1, Math.min(PAGE.max, limit * 2, Math.floor(PAGE.bytes / bytes)));
  }
}

/** About; only what may be large. */
const sizeOf = ({ commands, urls, http, metadata }: StoredRow) =>
  1_000 + [...commands, ...urls, ...http.header_lines, http.path, http.query, metadata].join("").length;

/** What is found in a row, and not stated by its sensor. */
export type FoundColumns = Pick<StoredRow, "tags" | "rule_tags" | "shared_tags" | "callbacks">;

/**
 * Stores rows again with other tags and callbacks. All else stays, also `received_at`: of rows received at the same
 * time the one inserted last counts, while a row that the intake replaces in the meantime is newer and stays.
 * @param reread reads the rows again.
 * @throws StoreError when they have not got them.
 */
export async function rewriteRows(
  client: ClickHouseClient,
  changes: readonly { readonly row: StoredRow; readonly found: FoundColumns }[],
  reread: () => Promise<readonly StoredRow[]>,
): Promise<void> {
  if (changes.length === 0) return;
  const values = changes.map(({ row, found }) => {
    const { began_at: _at, ip: _ip, parts: _parts, http: _http, tls: _tls, ssh: _ssh, ...columns } = row;
    return { ...columns, ...found };
  });
  // The same change may be made again after another was made in between.
  await client.insert({ table: "observations", values, format: "JSONEachRow", clickhouse_settings: storingAgain() });
  const wanted = new Map(changes.map(({ row, found }) => [keyOf(row), { receivedAt: row.received_at, found }]));
  for (const row of await reread()) {
    const change = wanted.get(keyOf(row));
    if (change === undefined || change.receivedAt !== row.received_at || hasFound(row, change.found)) continue;
    throw new StoreError("ClickHouse did not store rows with what was found in them, though it said so");
  }
}

const keyOf = ({ ip, dataset, workspace_id, began_at, sensor_id, observation_id }: StoredRow) =>
  JSON.stringify([ip, dataset, workspace_id, began_at, sensor_id, observation_id]);

const hasFound = (row: FoundColumns, { tags, rule_tags, shared_tags, callbacks }: FoundColumns) =>
  isDeepStrictEqual(
    [row.tags, row.rule_tags, row.shared_tags, row.callbacks],
    [tags, rule_tags, shared_tags, callbacks],
  );

const storedMonths = defineQuery({
  name: "stored-months",
  sql: `SELECT partition_id AS id, toUnixTimestamp(toDateTime(toDate(partition), 'UTC')) AS seconds, sum(rows) AS count
    FROM system.parts WHERE database = ${OWN_DATABASE} AND table = 'observations' AND active
    GROUP BY id, seconds ORDER BY seconds`,
  combine: (results) => `SELECT id, seconds, sum(result.count) AS count FROM ${results} AS result
      GROUP BY id, seconds ORDER BY seconds`,
  params: z.object({}),
  row: z.object({ id: z.string(), seconds: z.int(), count: z.int() }),
});

/** A month of which there are rows. */
export type StoredMonth = {
  /** The id of its partition. */
  readonly id: string;
  /** Milliseconds since 1970 UTC; exclusive. */
  readonly from: number;
  readonly to: number;
  /** About: rows that replace each other count until the server merges them. */
  readonly rows: number;
};

export async function readStoredMonths(client: ClickHouseClient): Promise<StoredMonth[]> {
  const months = await run(client, storedMonths, {});
  return months.map(({ id, seconds, count }) => {
    const from = seconds * 1_000;
    return { id, from, to: monthAt(from, 1), rows: count };
  });
}
