import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { HttpError } from "@noisefloor/http/responses/errors.ts";

export const TOO_LARGE = "The text is larger than 10 MiB: send it in parts";

/** Files that are no text, by the bytes in hexadecimal that they begin with. */
const KINDS: readonly (readonly [start: string, name: string])[] = [
  ["504b0304", "a ZIP archive, as XLSX and DOCX files are"],
  ["504b0506", "an empty ZIP archive"],
  ["255044462d", "a PDF document"],
  ["d0cf11e0a1b11ae1", "a document of an old Microsoft Office"],
  ["377abcaf271c", "a 7-Zip archive"],
  ["526172211a07", "a RAR archive"],
  ["425a6839314159265359", "a file compressed by bzip2"],
  ["fd377a585a00", "a file compressed by xz"],
  ["28b52ffd", "a file compressed by zstd"],
  ["04224d18", "a file compressed by LZ4"],
  ["53514c69746520666f726d6174203300", "an SQLite database"],
  ["d4c3b2a1", "a packet capture"],
  ["a1b2c3d4", "a packet capture"],
  ["4d3cb2a1", "a packet capture"],
  ["0a0d0d0a", "a packet capture"],
  ["456c6646696c6500", "a Windows event log"],
  ["89504e470d0a1a0a", "a picture"],
  ["ffd8ff", "a picture"],
  ["474946383", "a picture"],
  ["50415231", "a Parquet file"],
  ["fffe0000", "a text in UTF-32"],
  ["0000feff", "a text in UTF-32"],
];
const GZIP = "1f8b";
/** Byte order marks. A decoder leaves them out. */
const ENCODINGS: readonly (readonly [start: string, encoding: string])[] = [
  ["fffe", "utf-16le"],
  ["feff", "utf-16be"],
];
/** Addresses are searched for in a piece at a time, while other requests wait. */
const PIECE_BYTES = 64 * 1024;
const TAR_AT = 257;
const HEAD_BYTES = 512;

/**
 * The text of a file in UTF-8, or with a byte order mark in UTF-16, also compressed by gzip.
 * @throws HttpError 400 that says what the file is, if it cannot be read, or is larger than `maxBytes` decompressed.
 */
export async function* decodeFile(file: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<string> {
  const bytes = await withHead(file);
  if (!startsWith(bytes.head, GZIP)) {
    yield* decodeText(bytes);
    return;
  }
  const inflated = pipeline(bytes.all(), createGunzip({ chunkSize: PIECE_BYTES }), () => {});
  try {
    yield* decodeText(await withHead(bound(inflated, maxBytes)));
  } catch (error) {
    throw error instanceof HttpError ? error : new HttpError(400, "The file is compressed by gzip, and damaged");
  }
}

type Bytes = { readonly head: Buffer; readonly all: () => AsyncIterable<Buffer> };

const startsWith = (head: Buffer, start: string) => head.toString("hex").startsWith(start);

async function* decodeText({ head, all }: Bytes): AsyncGenerator<string> {
  const [, kind] = KINDS.find(([start]) => startsWith(head, start)) ?? [];
  const isTar = head.toString("latin1", TAR_AT, TAR_AT + 5) === "ustar";
  const [, encoding] = ENCODINGS.find(([start]) => startsWith(head, start)) ?? [];
  const isBinary = encoding === undefined && head.includes(0);
  const name = kind ?? (isTar ? "a tar archive" : isBinary ? NO_TEXT : undefined);
  if (name !== undefined) throw new HttpError(400, `The file is ${name}: send it as text`);
  const decoder = new TextDecoder(encoding);
  for await (const piece of all()) yield decoder.decode(piece, { stream: true });
  yield decoder.decode();
}

const NO_TEXT = "no text, or one in UTF-16 without a byte order mark";

/** Reads the beginning, which says what the file is. */
async function withHead(file: AsyncIterable<Buffer>): Promise<Bytes> {
  const pieces = file[Symbol.asyncIterator]();
  const first: Buffer[] = [];
  for (let length = 0; length < HEAD_BYTES; ) {
    const { done, value } = await pieces.next();
    if (done === true) break;
    first.push(value);
    length += value.length;
  }
  async function* all() {
    yield* first;
    yield* { [Symbol.asyncIterator]: () => pieces };
  }
  return { head: Buffer.concat(first).subarray(0, HEAD_BYTES), all };
}

async function* bound(bytes: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let length = 0;
  for await (const piece of bytes) {
    length += piece.length;
    if (length > maxBytes) throw new HttpError(400, TOO_LARGE);
    yield piece;
  }
}
