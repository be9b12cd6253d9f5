/**
 * Splits a list into chunks within the limits, in order. An item that alone exceeds `max.bytes` is a chunk of its
 * itemSize.
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
