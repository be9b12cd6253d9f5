/**
 * Yields what a generator yields. Each result is begun before the one before it is handed out, so that the store works
 * on it while the caller handles that one; a generator never works on two at once.
 */
export async function* oneAhead<T>(results: AsyncGenerator<T>): AsyncGenerator<T> {
  const begin = () => {
    const result = results.next();
    // A caller that ends early never awaits it.
    result.catch(() => {});
    return result;
  };
  for (let next = begin(); ; ) {
    const result = await next;
    if (result.done) return;
    next = begin();
    yield result.value;
  }
}
