import { setImmediate as nextTurn } from "node:timers/promises";
import { type ValueWriter, valueWriter } from "@noisefloor/clickhouse/client/value-writer.ts";
import type { ObservationRow } from "../rows/observation-row.ts";
import { COLUMNS, writeRow } from "./columns.ts";
import { type RowEncoder, rowDataError } from "./encode-rows.ts";

/** What is encoded before others get a turn: some milliseconds of work. */
const MAX_BLOCK = { rows: 4_000, bytes: 2 * 1024 * 1024 };
/** Until it is known how large the rows are. */
const FIRST_BLOCK_ROWS = 500;

/**
 * Writes rows as blocks of ClickHouse's format Native, in which the values of a column stand together. The server takes
 * them as they are: it reads rows in the format RowBinary value by value, for a quarter of its time.
 */
export function blockEncoder(): RowEncoder<ObservationRow> {
  const to = valueWriter();
  return {
    format: "Native",
    async encode(rows) {
      const blocks: Buffer[] = [];
      let size = FIRST_BLOCK_ROWS;
      for (let at = 0; at < rows.length; ) {
        if (at > 0) await nextTurn();
        const some = rows.slice(at, at + size);
        const block = encodeBlock(to, some);
        blocks.push(block);
        at += some.length;
        const fitting = Math.floor((MAX_BLOCK.bytes * some.length) / block.length);
        size = Math.max(1, Math.min(fitting, 2 * size, MAX_BLOCK.rows));
      }
      return blocks;
    },
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
