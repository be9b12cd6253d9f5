import { totalmem } from "node:os";

const MEBIBYTE = 1024 * 1024;
const GIBIBYTE = 1024 * MEBIBYTE;
const SHARE = 0.6;
/** Where this process and npm take up a larger part. */
const SHARE_BELOW_2_GIB = 0.45;
/** Less does not hold the tables of a store. */
const LEAST_BYTES = 160 * MEBIBYTE;
/** With less memory, background work and queries are slower and take less of it. */
const SMALL_BYTES = 384 * MEBIBYTE;

/** Bytes that the embedded server may allocate unless a setting says otherwise. */
export function defaultMemoryBytes(available: number = availableBytes()): number {
  const share = available < 2 * GIBIBYTE ? SHARE_BELOW_2_GIB : SHARE;
  return Math.max(LEAST_BYTES, Math.floor(available * share));
}

/** The memory of this machine, or of the container or unit that this process runs in. */
function availableBytes(): number {
  // Without a limit it is 0, or more than any machine has.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

export function isSmall(memoryBytes: number): boolean {
  return memoryBytes < SMALL_BYTES;
}

/**
 * Environment of the server. By default its allocator keeps freed memory for seconds in several arenas, which counts
 * against the limit.
 */
export function allocatorEnvironment(memoryBytes: number): Record<string, string> {
  if (!isSmall(memoryBytes)) return {};
  const options = "narenas:2,dirty_decay_ms:200,muzzy_decay_ms:0";
  return { MALLOC_CONF: options, JE_MALLOC_CONF: options };
}
