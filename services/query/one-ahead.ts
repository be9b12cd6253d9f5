/**
 * Yields the results of tasks in their order. Each task starts before the result of the one before is yielded, so that
 * the store works on it while the caller handles that result.
 */
export async function* oneAhead<T>(tasks: Iterable<() => Promise<T>>): AsyncGenerator<T> {
  let running: Promise<T> | undefined;
  for (const task of tasks) {
    const result = running;
    const started = async () => {
      // One query at a time: the caller's share of the capacity is reckoned for that.
      await result;
      return task();
    };
    running = started();
    // A caller that ends early never awaits it.
    running.catch(() => {});
    if (result !== undefined) yield await result;
  }
  if (running !== undefined) yield await running;
}
