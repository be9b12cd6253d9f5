import { z } from "zod";
import { IncompleteResponseError } from "./errors.ts";

/**
 * Values of a column by row, those of arrays one row after the other; those of more than 32 bits as several numbers
 * each, the lowest bits first.
 */
export type NumberColumn = Uint32Array<ArrayBuffer>;
export const numberColumn = z.custom<NumberColumn>((value) => value instanceof Uint32Array);
/** A column of numbers of 64 bits, none larger than 2^53. */
export const wideNumbers = numberColumn.transform(({ buffer }) => Array.from(new BigUint64Array(buffer), Number));
type Column = NumberColumn | Uint8Array | Uint16Array | readonly string[];

/** The types of numbers, and their bytes. To plan a conversion takes the server half a millisecond. */
const BYTES: Readonly<Record<string, number>> = {
  ...{ UInt8: 1, UInt16: 2, UInt32: 4, IPv4: 4, DateTime: 4, UInt64: 8, UInt128: 16 },
};

/** @returns the bytes of a value, undefined for texts, which state their length. */
function readType(type: string): { readonly bytes: number | undefined; readonly isArray: boolean } {
  const plain = type.replace(/^SimpleAggregateFunction\(\w+, (.+)\)$/, "$1").replace(/^DateTime\('\w+'\)$/, "DateTime");
  const value = plain.replace(/^Array\((\w+)\)$/, "$1");
  const bytes = BYTES[value];
  if (bytes === undefined && value !== "String") {
    throw new IncompleteResponseError(`the response has a column of type ${type.slice(0, 80)}`);
  }
  return { bytes, isArray: value !== plain };
}

/** Some rows of a response: how many, and their columns by name. */
export type Block = { readonly rows: number; readonly columns: Readonly<Record<string, Column>> };

/**
 * Reads a response in ClickHouse's format Native, each block as soon as it has come: a hundred thousand numbers without
 * an object for each, and without a text of any. Its numbers are little-endian, as this reads them.
 *
 * The format does not say how many blocks there are: only a reader who knows the number of rows can tell a whole
 * response from one that was cut between two of them.
 * @throws IncompleteResponseError when a block is cut, or the response holds anything else, such as an error's text.
 */
export async function* readBlocks(response: AsyncIterable<Uint8Array>): AsyncGenerator<Block, void, void> {
  const reader = new ByteReader(response);
  try {
    while (!(await reader.isAtEnd())) yield await readBlock(reader);
  } finally {
    await reader.end();
  }
}

async function readBlock(reader: ByteReader): Promise<Block> {
  const columns: Record<string, Column> = {};
  let left = await reader.varint();
  const rows = await reader.varint();
  for (; left > 0; left--) columns[await reader.text()] = await readColumn(reader, rows);
  return { rows, columns };
}

async function readColumn(reader: ByteReader, rows: number): Promise<Column> {
  const { bytes, isArray } = readType(await reader.text());
  // Arrays begin with their ends, in 64 bits each; a block has less than 2^32 values.
  const count = isArray ? (new Uint32Array(await reader.take(rows * 8)).at(-2) ?? 0) : rows;
  if (bytes !== undefined) {
    const values = await reader.take(count * bytes);
    return bytes === 1 ? new Uint8Array(values) : bytes === 2 ? new Uint16Array(values) : new Uint32Array(values);
  }
  const texts: string[] = [];
  while (texts.length < count) texts.push(await reader.text());
  return texts;
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
      const [byte = 0] = new Uint8Array(await this.take(1));
      value += (byte & 127) * unit;
      if (byte < 128) return value;
    }
  }

  async text(): Promise<string> {
    return Buffer.from(await this.take(await this.varint())).toString();
  }

  async take(length: number): Promise<ArrayBuffer> {
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
    return bytes.buffer;
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
