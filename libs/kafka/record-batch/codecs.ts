import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { decompress as unzstd } from "fzstd";
import lz4 from "lz4js";
import snappy from "snappyjs";

type Decompress = (compressed: Buffer, most: number) => Uint8Array | Promise<Uint8Array>;

/** By the number that a record batch has for each. */
const DECOMPRESS: Readonly<Record<number, Decompress>> = {
  0: (plain) => plain,
  1: (compressed, most) => promisify(zlib.unzip)(compressed, { maxOutputLength: most }),
  2: uncompressSnappy,
  3: uncompressLz4,
  4: uncompressZstd,
};

/**
 * Unpacks what a producer has packed, up to `most` bytes: a few kilobytes can stand for more than any memory holds.
 * Behind what was packed with zstd there may be anything; whoever reads it knows where it ends.
 * @param codec the number that a record batch has for how it is packed.
 * @throws Error when it is damaged or would be larger.
 */
export async function decompress(codec: number, packed: Buffer, most: number): Promise<Buffer> {
  const unpack = DECOMPRESS[codec];
  if (unpack === undefined) throw new Error(`nobody knows the compression ${codec}`);
  const { buffer, byteOffset, byteLength } = await unpack(packed, most);
  return Buffer.from(buffer, byteOffset, byteLength);
}

function requireAtMost(bytes: number, most: number): void {
  if (bytes > most) throw new Error(`unpacked it has more than ${most} bytes`);
}

/** Java producers wrap snappy in frames of their own: these eight bytes, two versions, then blocks behind their lengths. */
const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const XERIAL_HEADER_BYTES = 16;

function uncompressSnappy(compressed: Buffer, most: number): Uint8Array {
  if (!compressed.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) return snappy.uncompress(compressed, most);
  const blocks: Uint8Array[] = [];
  let bytes = 0;
  for (let at = XERIAL_HEADER_BYTES; at < compressed.length; ) {
    const length = compressed.readInt32BE(at);
    const block = snappy.uncompress(compressed.subarray(at + 4, at + 4 + length), most - bytes);
    blocks.push(block);
    bytes += block.length;
    at += 4 + length;
  }
  return Buffer.concat(blocks);
}

function uncompressLz4(frame: Buffer, most: number): Uint8Array {
  const bytes = lz4Size(frame, most);
  return lz4.decompress(frame, bytes);
}

/**
 * How large an LZ4 frame is unpacked, counted in its sequences: the package would take the frame's own word for it, and
 * the largest that its blocks may be otherwise.
 */
function lz4Size(frame: Buffer, most: number): number {
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
    if (at + length > frame.length) throw new Error("an LZ4 block reaches beyond its frame");
    size += word === length ? lz4BlockSize(frame.subarray(at, at + length)) : length;
    requireAtMost(size, most);
    at += length;
  }
}

function lz4BlockSize(block: Buffer): number {
  let [at, size] = [0, 0];
  /** A length of 15 goes on in further bytes, up to one that is not 255. */
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

/** Newer versions of Node bring zstd with them, many times as fast as in JavaScript. */
function uncompressZstd(compressed: Buffer, most: number): Uint8Array {
  if ("zstdDecompressSync" in zlib && typeof zlib.zstdDecompressSync === "function") {
    const uncompressed: unknown = zlib.zstdDecompressSync(compressed, { maxOutputLength: most });
    if (uncompressed instanceof Uint8Array) return uncompressed;
  }
  return unzstd(sizedZstd(compressed, most));
}

const ZSTD_MAGIC = 0xfd2fb528;
const ZSTD_BLOCK_BYTES = 128 * 1024;
const [ZSTD_RLE, ZSTD_COMPRESSED] = [1, 2];

/**
 * The same zstd frame with a header that says how large it may be unpacked. Without that the package moves a whole
 * window, which may be gigabytes, for each block, which may be a single byte.
 */
function sizedZstd(frame: Buffer, most: number): Buffer {
  if (frame.readUInt32LE(0) !== ZSTD_MAGIC) throw new Error("it is not a zstd frame");
  const flags = frame.readUInt8(4);
  const isSingleSegment = (flags & 0x20) !== 0;
  if ((flags & 0x03) !== 0) throw new Error("it is packed with a zstd dictionary");
  const sizeFlag = flags >> 6;
  const sizeBytes = sizeFlag === 0 ? Number(isSingleSegment) : 1 << sizeFlag;
  const firstBlock = (isSingleSegment ? 5 : 6) + sizeBytes;
  let [at, size, isLast] = [firstBlock, 0, false];
  while (!isLast) {
    const header = frame.readUIntLE(at, 3);
    const [type, length] = [(header >> 1) & 3, header >> 3];
    isLast = (header & 1) === 1;
    size += type === ZSTD_COMPRESSED ? ZSTD_BLOCK_BYTES : length;
    requireAtMost(size, most);
    at += 3 + (type === ZSTD_RLE ? 1 : length);
  }
  const hasChecksum = (flags & 0x04) !== 0;
  const end = at + (hasChecksum ? 4 : 0);
  if (end !== frame.length) throw new Error("it is not one whole zstd frame");
  const header = Buffer.alloc(13);
  header.writeUInt32LE(ZSTD_MAGIC);
  // A single segment, its size in eight bytes, and the checksum as it was.
  header.writeUInt8(0xe0 | (flags & 0x04), 4);
  header.writeUInt32LE(size, 5);
  return Buffer.concat([header, frame.subarray(firstBlock)]);
}
