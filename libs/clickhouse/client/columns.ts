import type { ClickHouseClient } from "./connect.ts";
import { IncompleteResponseError } from "./errors.ts";

/** Reads the values of one row in the format RowBinary, in the order of its columns. */
export type RowReader = {
  /** A column of type UInt64 that holds a number no larger than 2^53. */
  uint64(): number;
  string(): string;
  /** A column of type Array(UInt64) whose numbers are no larger than 2^53. */
  uint64s(): number[];
  /** Columns of type Array(UInt8), Array(UInt16), Array(UInt32) and Array(String). */
  uint8s(): Uint8Array;
  uint16s(): Uint16Array;
  uint32s(): Uint32Array;
  strings(): string[];
};

export type ColumnQuery = {
  /** For the server's query log. */
  readonly name: string;
  /** Answers with one row. */
  readonly sql: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly settings?: Readonly<Record<string, string | number>>;
};

/**
 * Reads one row whose columns are arrays: a million values without an object for each. Every array states its length,
 * so a response that was cut shows.
 * @throws IncompleteResponseError when the response is not one whole row of the columns that were read.
 */
export async function readColumns<T>(
  client: ClickHouseClient,
  { name, sql, params, settings }: ColumnQuery,
  read: (row: RowReader) => T,
  signal?: AbortSignal,
): Promise<T> {
  const { stream } = await client.exec({
    query: `${sql} FORMAT RowBinary`,
    clickhouse_settings: { ...settings, log_comment: name },
    ...(params && { query_params: { ...params } }),
    ...(signal && { abort_signal: signal }),
  });
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(Buffer.from(piece));
  return readRow(Buffer.concat(pieces), name, read);
}

export function readRow<T>(bytes: Buffer, name: string, read: (row: RowReader) => T): T {
  let position = 0;
  const take = (length: number): Buffer => {
    if (position + length > bytes.length) {
      throw new IncompleteResponseError(
        `${name}: the response ends after ${bytes.length} bytes, in the middle of its row`,
      );
    }
    const taken = bytes.subarray(position, position + length);
    position += length;
    return taken;
  };
  /** The length of a string or array: seven bits a byte, the lowest first. */
  const readLength = (): number => {
    let length = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = take(1).readUInt8();
      length += (byte & 127) * factor;
      if (byte < 128) return length;
    }
  };
  /** A copy that starts where numbers of every width may start, and does not keep the response in memory. */
  const readArray = (width: number): ArrayBuffer => {
    const taken = take(readLength() * width);
    const copy = new ArrayBuffer(taken.length);
    new Uint8Array(copy).set(taken);
    return copy;
  };
  const uint64 = () => Number(take(8).readBigUInt64LE());
  const string = () => take(readLength()).toString("utf8");
  const result = read({
    uint64,
    uint64s: () => Array.from({ length: readLength() }, uint64),
    string,
    uint8s: () => new Uint8Array(readArray(1)),
    uint16s: () => new Uint16Array(readArray(2)),
    uint32s: () => new Uint32Array(readArray(4)),
    strings: () => Array.from({ length: readLength() }, string),
  });
  if (position !== bytes.length) {
    throw new IncompleteResponseError(`${name}: ${bytes.length - position} bytes follow the row that was expected`);
  }
  return result;
}
