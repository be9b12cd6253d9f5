const MIN_BYTES = 16 * 1024;
const MAX_BYTES = 256 * 1024;
/** Logs and observations shrink to a tenth. */
const USUAL_RATIO = 10;

/**
 * How many bytes zlib should decompress at once: its option `chunkSize`. With its default of 16 KiB log lines take
 * three times as long as with 256 KiB. A small body gets less, as each body keeps a chunk of this size in memory.
 * @param compressedBytes as many as the sender claims, 0 when it claims none; left out for files, which are read one
 *   at a time.
 */
export function inflateChunkBytes(compressedBytes = Number.POSITIVE_INFINITY): number {
  return Math.min(Math.max(MIN_BYTES, Math.ceil(compressedBytes * USUAL_RATIO)), MAX_BYTES);
}
