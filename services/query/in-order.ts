import { awaitedLater } from "./awaited-later.ts";

/**
 * Works on some items at once and yields the results in the order of the items. Work on a further item begins before a
 * result is handed out, so that it is done while the caller handles that one; after an error none begins.
 */
export async function* inOrder<Item, Result>(
  items: Iterable<Item>,
  atOnce: number,
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
  for (let count = 0; count < atOnce; count++) begin();
  for (let next = running.shift(); next !== undefined; next = running.shift()) {
    const result = await next;
    begin();
    yield result;
  }
}
