/**
 * Splits a list into chunks within the limits, in order. An item that alone exceeds `max.bytes` is a chunk of its itemSize.
 */
export function* chunksOf<T>(
  items: readonly T[],
  sizeOf: (item: T) => number,
  max: { readonly items?: number; readonly bytes: number },
): Generator<T[]> {
  let chunk: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (chunk.length >= (max.items ?? Number.POSITIVE_INFINITY) || (chunk.length > 0 && bytes + size > max.bytes)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(item);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}

/** How far a chunk may exceed the wanted size, so that no small one is left over. */
const TOLERANCE = 1.1;

/** Splits a list into chunks of about the same size, in order: as few as possible of about `bytes` each. */
export function* evenChunksOf<T>(items: readonly T[], sizeOf: (item: T) => number, bytes: number): Generator<T[]> {
  const sizes = items.map(sizeOf);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const size = total / Math.max(1, Math.ceil(total / (bytes * TOLERANCE)));
  let chunk: T[] = [];
  let before = 0;
  let end = size;
  for (const [index, item] of items.entries()) {
    const itemSize = sizes[index] ?? 0;
    // Where the middle of an item lies decides.
    if (chunk.length > 0 && before + itemSize / 2 > end) {
      yield chunk;
      chunk = [];
      while (before + itemSize / 2 > end) end += size;
    }
    chunk.push(item);
    before += itemSize;
  }
  if (chunk.length > 0) yield chunk;
}
