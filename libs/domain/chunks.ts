/**
 * A list in parts, in its order, none with more items or bytes than that. An item that is larger by itself is a part of
 * its own.
 */
export function* chunksOf<T>(
  items: readonly T[],
  sizeOf: (item: T) => number,
  most: { readonly items?: number; readonly bytes: number },
): Generator<T[]> {
  let chunk: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (chunk.length >= (most.items ?? Number.POSITIVE_INFINITY) || (chunk.length > 0 && bytes + size > most.bytes)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(item);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}
