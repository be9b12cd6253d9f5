import { z } from "zod";
import { IncompleteResponseError } from "./errors.ts";

/** Values of a column by row; those of more than 32 bits as several numbers each, the lowest bits first. */
export type NumberColumn = Uint32Array<ArrayBuffer>;
export const numberColumn = z.custom<NumberColumn>((value) => value instanceof Uint32Array);
/** A column of arrays: the values of all, one row after the other, and for each row the index after its last one. */
export class ArrayColumn {
  readonly ends: Uint32Array;
  readonly values: NumberColumn;
  constructor(ends: Uint32Array, values: NumberColumn) {
    this.ends = ends;
    this.values = values;
  }
}
/** Columns of equal length by name: some rows of a response. */
export type NumberColumns = Readonly<Record<string, NumberColumn | ArrayColumn>>;

/** The types that a value may have, and its bytes. To plan a conversion takes the server half a millisecond. */
const BYTES: Readonly<Record<string, number>> = { UInt32: 4, IPv4: 4, DateTime: 4, UInt64: 8, UInt128: 16 };

function readType(type: string): { readonly bytes: number; readonly isArray: boolean } {
  const plain = type.replace(/^SimpleAggregateFunction\(\w+, (.+)\)$/, "$1").replace(/^DateTime\('\w+'\)$/, "DateTime");
  const value = plain.replace(/^Array\((\w+)\)$/, "$1");
  const bytes = BYTES[value];
  if (bytes === undefined) throw new IncompleteResponseError(`the response has a column of type ${type.slice(0, 80)}`);
  return { bytes, isArray: value !== plain };
}

/** Some rows of a response: how many, and their columns. */
export type NumberBlock = { readonly rows: number; readonly columns: NumberColumns };

/**
 * Reads a response in ClickHouse's format Native, each block as soon as it has come: a hundred thousand values without
 * an object for each, and without a text of any. Its numbers are little-endian, as this reads them.
 *
 * The format does not say how many blocks there are: only a reader who knows the number of rows can tell a whole
 * response from one that was cut between two of them.
 * @throws IncompleteResponseError when a block is cut, or the response holds anything else, such as an error's text.
 */
export async function* readNumberBlocks(response: AsyncIterable<Uint8Array>): AsyncGenerator<NumberBlock, void, void> {
  const reader = new ByteReader(response);
  try {
    while (!(await reader.isAtEnd())) yield await readBlock(reader);
  } finally {
    await reader.end();
  }
}

async function readBlock(reader: ByteReader): Promise<NumberBlock> {
  const columns: Record<string, NumberColumn | ArrayColumn> = {};
  let left = await reader.varint();
  const rows = await reader.varint();
  for (; left > 0; left--) columns[await reader.text()] = await readColumn(reader, rows);
  return { rows, columns };
}

async function readColumn(reader: ByteReader, rows: number): Promise<NumberColumn | ArrayColumn> {
  const { bytes, isArray } = readType(await reader.text());
  if (!isArray) return reader.numbers(rows * bytes);
  // Of 64 bits each; a block has less than 2^32 values.
  const offsets = await reader.numbers(rows * 8);
  const ends = new Uint32Array(rows);
  for (let row = 0; row < rows; row++) ends[row] = offsets[2 * row] ?? 0;
  return new ArrayColumn(ends, await reader.numbers((ends.at(-1) ?? 0) * bytes));
}

/**
 * Takes bytes out of pieces of any size, each time into memory of its own: numbers must begin at a multiple of their
 * size. A class, and not closures: V8 drops the optimised code of closures with a full garbage collection, and would
 * compile these loops again for each large response.
 */
class ByteReader {
  readonly #coming: AsyncIterator<Uint8Array>;
  readonly #pieces: Uint8Array[] = [];
  /** Number of bytes already consumed from the first piece. */
  #taken = 0;
  #left = 0;
  #total = 0;

  constructor(response: AsyncIterable<Uint8Array>) {
    this.#coming = response[Symbol.asyncIterator]();
  }

  async isAtEnd(): Promise<boolean> {
    return !(await this.#has(1));
  }

  /** Frees the connection of a response that is not read to its end. */
  async end(): Promise<void> {
    await this.#coming.return?.();
  }

  /** A number of seven bits a byte, the lowest first. */
  async varint(): Promise<number> {
    for (let value = 0, unit = 1; ; unit *= 128) {
      const [byte = 0] = await this.#take(1);
      value += (byte & 127) * unit;
      if (byte < 128) return value;
    }
  }

  async text(): Promise<string> {
    return Buffer.from(await this.#take(await this.varint())).toString();
  }

  async numbers(bytes: number): Promise<NumberColumn> {
    return new Uint32Array((await this.#take(bytes)).buffer);
  }

  async #take(length: number): Promise<Uint8Array<ArrayBuffer>> {
    if (!(await this.#has(length))) {
      throw new IncompleteResponseError(`the response ends after ${this.#total} bytes, in the middle of a block`);
    }
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; ) {
      const piece = this.#pieces[0]?.subarray(this.#taken, this.#taken + length - at) ?? new Uint8Array();
      bytes.set(piece, at);
      at += piece.length;
      this.#taken += piece.length;
      if (this.#taken < (this.#pieces[0]?.length ?? 0)) break;
      this.#pieces.shift();
      this.#taken = 0;
    }
    this.#left -= length;
    return bytes;
  }

  async #has(length: number): Promise<boolean> {
    while (this.#left < length) {
      const next = await this.#coming.next();
      if (next.done === true) return false;
      this.#pieces.push(next.value);
      this.#left += next.value.length;
      this.#total += next.value.length;
    }
    return true;
  }
}
