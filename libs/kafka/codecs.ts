import * as zlib from "node:zlib";
import { decompress as unzstd } from "fzstd";
import lz4 from "lz4js";
import snappy from "snappyjs";

export type Decompress = (compressed: Buffer) => Uint8Array;

/** What producers compress with besides gzip, which the client library knows by itself. */
export const DECOMPRESS = {
  Snappy: uncompressSnappy,
  LZ4: (frame: Buffer) => lz4.decompress(frame),
  ZSTD: uncompressZstd,
} as const satisfies Record<string, Decompress>;

/** Java producers wrap snappy in frames of their own: these eight bytes, two versions, then blocks behind their lengths. */
const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const XERIAL_HEADER_BYTES = 16;

function uncompressSnappy(compressed: Buffer): Uint8Array {
  if (!compressed.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) return snappy.uncompress(compressed);
  const blocks: Uint8Array[] = [];
  for (let at = XERIAL_HEADER_BYTES; at < compressed.length; ) {
    const length = compressed.readInt32BE(at);
    blocks.push(snappy.uncompress(compressed.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return Buffer.concat(blocks);
}

/** Newer versions of Node bring zstd with them, many times as fast as in JavaScript. */
function uncompressZstd(compressed: Buffer): Uint8Array {
  if ("zstdDecompressSync" in zlib && typeof zlib.zstdDecompressSync === "function") {
    const uncompressed: unknown = zlib.zstdDecompressSync(compressed);
    if (uncompressed instanceof Uint8Array) return uncompressed;
  }
  return unzstd(compressed);
}
