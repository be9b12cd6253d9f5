import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ClickHouseClient, ClickHouseSettings } from "@noisefloor/clickhouse/client/connect.ts";
import { RowDataError } from "@noisefloor/clickhouse/client/errors.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { type ValueWriter, valueWriter } from "@noisefloor/clickhouse/row-binary/value-writer.ts";
import type { ObservationRow } from "../rows/observation-row.ts";
import { COLUMNS, columnsFor, writeRow } from "./columns.ts";
import type { Insert } from "./insert-queue.ts";

/** A sender waits for an insert of at most this size, which takes tens of milliseconds. */
const URGENT_ROWS = 1_000;
/**
 * Large queries pause for it, for a little at a time. Most of its time goes into the views, which run side by side:
 * while the processors are busy, a single thread would wait for its turn again and again.
 */
const URGENT = { priority: "1", parallel_view_processing: 1 } as const;

/**
 * Inserts into ClickHouse; when it resolves, the rows and all that is derived from them can be read.
 * @param assertSpace throws while the store must not grow.
 */
export function insertObservations(
  client: ClickHouseClient,
  assertSpace: () => void = () => {},
): Insert<ObservationRow> {
  const encode = blockEncoder();
  return async (rows, token) => {
    assertSpace();
    const columns = columnsFor(rows);
    await send(client, columns, await encode(rows, columns), {
      insert_deduplication_token: token,
      // Else an insert whose answer was lost would be repeated in the rollups, though not in the table itself.
      deduplicate_blocks_in_dependent_materialized_views: 1,
      // An observation that an insert has twice stays until a merge, as one that two inserts have: readers count it
      // once. To search each block for such rows takes a fifth of the server's time.
      optimize_on_insert: 0,
      ...(rows.length <= URGENT_ROWS ? URGENT : {}),
    });
  };
}

async function send(
  client: ClickHouseClient,
  columns: typeof COLUMNS,
  blocks: readonly Buffer[],
  clickhouse_settings: ClickHouseSettings,
) {
  const query = `INSERT INTO ${OBSERVATIONS} (${columns.map(([name]) => name).join(", ")}) FORMAT Native`;
  const { stream } = await client.exec({ query, values: Readable.from(blocks), clickhouse_settings });
  await finished(stream.resume());
}

/** What is encoded before others get a turn: some milliseconds of work. */
const MAX_BLOCK = { rows: 4_000, bytes: 2 * 1024 * 1024 };
/** Until it is known how large the rows are. */
const FIRST_BLOCK_ROWS = 500;

/**
 * Writes rows as blocks of ClickHouse's format Native, in which the values of a column stand together. The server takes
 * them as they are.
 * @returns a function that rejects with a {@link RowDataError} when a row has no bytes.
 */
export function blockEncoder(): (
  rows: readonly ObservationRow[],
  columns?: typeof COLUMNS,
) => Promise<readonly Buffer[]> {
  const to = valueWriter();
  return async (rows, columns = COLUMNS) => {
    const blocks: Buffer[] = [];
    let size = FIRST_BLOCK_ROWS;
    for (let at = 0; at < rows.length; ) {
      if (at > 0) await nextTurn();
      const next = rows.slice(at, at + size);
      const block = encodeBlock(to, next, columns);
      blocks.push(block);
      at += next.length;
      const fitting = Math.floor((MAX_BLOCK.bytes * next.length) / block.length);
      size = Math.max(1, Math.min(fitting, 2 * size, MAX_BLOCK.rows));
    }
    return blocks;
  };
}

/** Not interrupted by others, who use the same memory. */
function encodeBlock(to: ValueWriter, rows: readonly ObservationRow[], columns: typeof COLUMNS): Buffer {
  to.clear();
  to.count(columns.length);
  to.count(rows.length);
  try {
    for (const [name, { type, writeAll }] of columns) {
      to.text(name);
      to.text(type);
      writeAll(to, rows);
    }
  } catch (error) {
    throw errorOfRow(to, rows) ?? error;
  }
  return to.copy();
}

/** The error of the first row that cannot be written. */
function errorOfRow(to: ValueWriter, rows: readonly ObservationRow[]): Error | undefined {
  for (const row of rows) {
    to.clear();
    try {
      writeRow(to, row);
    } catch (error) {
      return rowDataError(row.observation_id, error);
    }
  }
  return undefined;
}

/** A row that cannot be stored must not hold up the others, so the error says that the row is the reason. */
function rowDataError(id: string, error: unknown): RowDataError {
  const detail = error instanceof Error ? error.message : String(error);
  return new RowDataError(`the observation ${id} has no form that ClickHouse can store: ${detail}`);
}
