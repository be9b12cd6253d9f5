import { setImmediate as nextTurn } from "node:timers/promises";
import { RowDataError } from "@noisefloor/clickhouse/client/errors.ts";
import type { ValueWriter } from "@noisefloor/clickhouse/client/value-writer.ts";

/** Makes of rows what an INSERT sends: all columns that columns.ts has, in its order. */
export type RowEncoder<Row> = {
  /** The format of ClickHouse in which it writes. */
  readonly format: "RowBinary" | "Native";
  /** Others get their turn after each piece. Rejects with a {@link RowDataError} when a row has no bytes. */
  encode(rows: readonly Row[]): Promise<readonly Buffer[]>;
};

/** What is encoded before others get a turn: some milliseconds of work. */
const PIECE = { rows: 2_000, bytes: 2 * 1024 * 1024 };

export type PiecesOptions<Row> = {
  /** Not used by others before the promise is settled, except by calls with the same one. */
  readonly to: ValueWriter;
  readonly write: (row: Row) => void;
  /** How an error names a row. */
  readonly idOf: (row: Row) => string;
};

/** A row that cannot be stored must not hold up the others, so the error says that the row is the reason. */
export function rowDataError(id: string, error: unknown): RowDataError {
  const detail = error instanceof Error ? error.message : String(error);
  return new RowDataError(`the observation ${id} has no form that ClickHouse can store: ${detail}`);
}

/** Encodes rows in the format RowBinary, piece by piece. */
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
      throw rowDataError(idOf(row), error);
    }
  }
  return { piece: to.copy(), next };
}
