const MIN_BYTES = 16 * 1024;
const MAX_BYTES = 256 * 1024;
/** Logs and observations shrink to a tenth. */
const USUAL_RATIO = 10;

/**
 * zlib's option `chunkSize`: how many bytes it decompresses per call. Large chunks need fewer calls, but each body
 * keeps one in memory, so a small body gets a small one.
 * @param compressedBytes as many as the sender claims, 0 when it claims none; left out for files, which are read one
 *   at a time.
 */
export function inflateChunkBytes(compressedBytes = Number.POSITIVE_INFINITY): number {
  return Math.min(Math.max(MIN_BYTES, Math.ceil(compressedBytes * USUAL_RATIO)), MAX_BYTES);
}
