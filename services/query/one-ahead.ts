import { awaitedLater } from "./awaited-later.ts";

/**
 * Yields what a generator yields. Each result is begun before the one before it is handed out, so that the store works
 * on it while the caller handles that one; a generator never works on two at once.
 */
export async function* oneAhead<T>(results: AsyncGenerator<T>): AsyncGenerator<T> {
  // A caller that ends early never awaits it.
  const begin = () => awaitedLater(results.next());
  for (let next = begin(); ; ) {
    const result = await next;
    if (result.done) return;
    next = begin();
    yield result.value;
  }
}
