import { setImmediate as nextTurn } from "node:timers/promises";
import { RowDataError } from "@noisefloor/clickhouse/client/errors.ts";
import { type ValueWriter, valueWriter } from "@noisefloor/clickhouse/client/value-writer.ts";
import type { ObservationRow } from "../rows/observation-row.ts";
import { COLUMNS, writeRow } from "./columns.ts";

/** What is encoded before others get a turn: some milliseconds of work. */
const MAX_BLOCK = { rows: 4_000, bytes: 2 * 1024 * 1024 };
/** Until it is known how large the rows are. */
const FIRST_BLOCK_ROWS = 500;

/**
 * Writes rows as blocks of ClickHouse's format Native, in which the values of a column stand together. The server takes
 * them as they are.
 * @returns a function that rejects with a {@link RowDataError} when a row has no bytes.
 */
export function blockEncoder(): (rows: readonly ObservationRow[]) => Promise<readonly Buffer[]> {
  const to = valueWriter();
  return async (rows) => {
    const blocks: Buffer[] = [];
    let size = FIRST_BLOCK_ROWS;
    for (let at = 0; at < rows.length; ) {
      if (at > 0) await nextTurn();
      const next = rows.slice(at, at + size);
      const block = encodeBlock(to, next);
      blocks.push(block);
      at += next.length;
      const fitting = Math.floor((MAX_BLOCK.bytes * next.length) / block.length);
      size = Math.max(1, Math.min(fitting, 2 * size, MAX_BLOCK.rows));
    }
    return blocks;
  };
}

/** Not interrupted by others, who use the same memory. */
function encodeBlock(to: ValueWriter, rows: readonly ObservationRow[]): Buffer {
  to.clear();
  to.count(COLUMNS.length);
  to.count(rows.length);
  try {
    for (const [name, { type, writeAll }] of COLUMNS) {
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
