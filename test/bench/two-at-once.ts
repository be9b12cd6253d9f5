/** Each statement that makes data keeps one core busy. */
const AT_ONCE = 2;

/** Does something with each item, with two of them at a time. After a failure it begins no more. */
export async function twoAtOnce<Item>(items: Iterable<Item>, act: (item: Item) => Promise<void>): Promise<void> {
  const left = each(items);
  const actInTurn = async () => {
    for (const item of left) await act(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, actInTurn));
}

/** Ends for all of its readers when one of them fails; an array's iterator would go on. */
function* each<Item>(items: Iterable<Item>): Generator<Item, void, void> {
  yield* items;
}
