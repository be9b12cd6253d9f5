import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { inflateChunkBytes } from "@noisefloor/domain/inflate-chunk.ts";
import { decompress as unzstd } from "fzstd";
import lz4 from "lz4js";
import snappy from "snappyjs";

type Decompress = (compressed: Buffer, maxBytes: number) => Uint8Array | Promise<Uint8Array>;

/** By the number that a record batch has for each codec. */
const DECOMPRESS: Readonly<Record<number, Decompress>> = {
  0: (uncompressed) => uncompressed,
  1: (compressed, maxBytes) =>
    promisify(zlib.unzip)(compressed, {
      maxOutputLength: maxBytes,
      chunkSize: inflateChunkBytes(compressed.length),
    }),
  2: decompressSnappy,
  3: decompressLz4,
  4: decompressZstd,
};

/**
 * Decompresses up to `maxBytes`: a few kilobytes may stand for more than any memory holds.
 * With zstd further bytes may follow the decompressed ones; the caller knows where its data ends.
 * @param codec the number that a record batch has for it.
 * @throws Error when the bytes are damaged or would decompress to more.
 */
export async function decompress(codec: number, compressed: Buffer, maxBytes: number): Promise<Buffer> {
  const run = DECOMPRESS[codec];
  if (run === undefined) throw new Error(`unknown compression ${codec}`);
  const { buffer, byteOffset, byteLength } = await run(compressed, maxBytes);
  return Buffer.from(buffer, byteOffset, byteLength);
}

function assertAtMost(bytes: number, maxBytes: number): void {
  if (bytes > maxBytes) throw new Error(`it decompresses to more than ${maxBytes} bytes`);
}

/** Java producers frame snappy themselves: these eight bytes, two versions, then blocks with their lengths. */
const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const XERIAL_HEADER_BYTES = 16;

function decompressSnappy(compressed: Buffer, maxBytes: number): Uint8Array {
  if (!compressed.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) return snappy.uncompress(compressed, maxBytes);
  const blocks: Uint8Array[] = [];
  let bytes = 0;
  for (let at = XERIAL_HEADER_BYTES; at < compressed.length; ) {
    const length = compressed.readInt32BE(at);
    const block = snappy.uncompress(compressed.subarray(at + 4, at + 4 + length), maxBytes - bytes);
    blocks.push(block);
    bytes += block.length;
    at += 4 + length;
  }
  return Buffer.concat(blocks);
}

function decompressLz4(frame: Buffer, maxBytes: number): Uint8Array {
  const bytes = lz4Size(frame, maxBytes);
  return lz4.decompress(frame, bytes);
}

/**
 * How many bytes an LZ4 frame decompresses to, counted in its sequences: the package trusts the size that the frame
 * claims and, where it claims none, allocates the maximum that its blocks may hold.
 */
function lz4Size(frame: Buffer, maxBytes: number): number {
  const flags = frame.readUInt8(4);
  const [hasBlockChecksums, hasContentSize] = [(flags & 0x10) !== 0, (flags & 0x08) !== 0];
  let at = hasContentSize ? 15 : 7;
  let size = 0;
  for (;;) {
    const word = frame.readUInt32LE(at);
    const length = word & 0x7fffffff;
    at += 4;
    if (word === 0) return size;
    if (hasBlockChecksums) at += 4;
    if (at + length > frame.length) throw new Error("an LZ4 block ends after its frame");
    size += word === length ? lz4BlockSize(frame.subarray(at, at + length)) : length;
    assertAtMost(size, maxBytes);
    at += length;
  }
}

function lz4BlockSize(block: Buffer): number {
  let [at, size] = [0, 0];
  /** A length of 15 continues in further bytes, until one is not 255. */
  const readLength = (first: number) => {
    if (first < 15) return first;
    for (let length = first; ; ) {
      const more = block.readUInt8(at++);
      length += more;
      if (more < 255) return length;
    }
  };
  while (at < block.length) {
    const token = block.readUInt8(at++);
    const literals = readLength(token >> 4);
    at += literals;
    size += literals;
    // The last sequence ends with its literals.
    if (at >= block.length) break;
    at += 2;
    size += readLength(token & 15) + 4;
  }
  return size;
}

/** Newer versions of Node have zstd built in, many times as fast as in JavaScript. */
function decompressZstd(compressed: Buffer, maxBytes: number): Uint8Array {
  if ("zstdDecompressSync" in zlib && typeof zlib.zstdDecompressSync === "function") {
    const decompressed: unknown = zlib.zstdDecompressSync(compressed, { maxOutputLength: maxBytes });
    if (decompressed instanceof Uint8Array) return decompressed;
  }
  return unzstd(sizedZstd(compressed, maxBytes));
}

const ZSTD_MAGIC = 0xfd2fb528;
const ZSTD_BLOCK_BYTES = 128 * 1024;
const [ZSTD_RLE, ZSTD_COMPRESSED] = [1, 2];

/**
 * The same zstd frame with a header that states its decompressed size. Without it the package copies a whole window,
 * which may be gigabytes, for each block, which may be a single byte.
 */
function sizedZstd(frame: Buffer, maxBytes: number): Buffer {
  if (frame.readUInt32LE(0) !== ZSTD_MAGIC) throw new Error("it is not a zstd frame");
  const flags = frame.readUInt8(4);
  const isSingleSegment = (flags & 0x20) !== 0;
  if ((flags & 0x03) !== 0) throw new Error("it needs a zstd dictionary");
  const sizeFlag = flags >> 6;
  const sizeBytes = sizeFlag === 0 ? Number(isSingleSegment) : 1 << sizeFlag;
  const firstBlock = (isSingleSegment ? 5 : 6) + sizeBytes;
  let [at, size, isLast] = [firstBlock, 0, false];
  while (!isLast) {
    const header = frame.readUIntLE(at, 3);
    const [type, length] = [(header >> 1) & 3, header >> 3];
    isLast = (header & 1) === 1;
    size += type === ZSTD_COMPRESSED ? ZSTD_BLOCK_BYTES : length;
    assertAtMost(size, maxBytes);
    at += 3 + (type === ZSTD_RLE ? 1 : length);
  }
  const hasChecksum = (flags & 0x04) !== 0;
  const end = at + (hasChecksum ? 4 : 0);
  if (end !== frame.length) throw new Error("it is not exactly one zstd frame");
  const header = Buffer.alloc(13);
  header.writeUInt32LE(ZSTD_MAGIC);
  // A single segment, its size in eight bytes, and the checksum flag as before.
  header.writeUInt8(0xe0 | (flags & 0x04), 4);
  header.writeUInt32LE(size, 5);
  return Buffer.concat([header, frame.subarray(firstBlock)]);
}
