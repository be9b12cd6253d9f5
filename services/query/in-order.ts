/** For a result that an error elsewhere may keep from being awaited: Node ends for an error that has no handler. */
export function awaitedLater<T>(result: Promise<T>): Promise<T> {
  result.catch(() => {});
  return result;
}

/**
 * Works on up to `concurrency` items at a time and yields the results in the order of the items. Work on a further item
 * begins before a result is handed out, so that it is done while the caller handles that one; after an error none begins.
 */
export async function* inOrder<Item, Result>(
  items: Iterable<Item>,
  concurrency: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void, void> {
  const left = items[Symbol.iterator]();
  const running: Promise<Result>[] = [];
  const begin = () => {
    const item = left.next();
    if (item.done) return;
    // A caller that ends early, or whom the error of an earlier item ends, never awaits it.
    running.push(awaitedLater(work(item.value)));
  };
  for (let count = 0; count < concurrency; count++) begin();
  for (let next = running.shift(); next !== undefined; next = running.shift()) {
    const result = await next;
    begin();
    yield result;
  }
}

/**
 * Yields what a generator yields. Each result is begun before the one before it is handed out, so that the store works
 * on it while the caller handles that one; a generator never works on two of them at the same time.
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
