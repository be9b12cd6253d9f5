/**
 * Does for many callers together what takes one query for any number of them: the items of those who call while a
 * query runs are gathered for the next one.
 */
export function inBatches<Item, Result>(
  act: (items: readonly Item[]) => Promise<Result>,
): (item: Item) => Promise<Result> {
  let next: { readonly items: Item[]; readonly result: Promise<Result> } | undefined;
  let running: Promise<unknown> = Promise.resolve();
  return (item) => {
    if (next === undefined) {
      const items: Item[] = [];
      const result = running.then(() => {
        next = undefined;
        return act(items);
      });
      running = result.catch(() => {});
      next = { items, result };
    }
    next.items.push(item);
    return next.result;
  };
}
