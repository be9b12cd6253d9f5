/** With less memory, background work and queries are slower and take less of it. */
const SMALL_BYTES = 384 * 2 ** 20;

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
