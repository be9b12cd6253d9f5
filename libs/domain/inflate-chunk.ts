const MIN_BYTES = 16 * 1024;
const MAX_BYTES = 256 * 1024;
/** Logs and observations shrink to a tenth. */
const USUAL_RATIO = 10;

/**
 * How many bytes zlib should decompress at once: its option `chunkSize`. With the 16 KiB that are its default, log lines
 * take three times as long as with 256 KiB; but as each body keeps a chunk of this size in memory, a small one gets less.
 * @param compressedBytes as many as the sender claims; left out when the data is decompressed bit by bit.
 */
export function inflateChunkBytes(compressedBytes = Number.POSITIVE_INFINITY): number {
  return Math.min(Math.max(MIN_BYTES, Math.ceil(compressedBytes * USUAL_RATIO)), MAX_BYTES);
}
