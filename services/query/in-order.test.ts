import { expect, test } from "vitest";
import { inOrder } from "./in-order.ts";

/** Logs its beginning and its end, which comes after so many turns. */
const logged = (log: string[], turns: (item: number) => number) => async (item: number) => {
  log.push(`begin ${item}`);
  for (let turn = 0; turn < turns(item); turn++) await new Promise((settle) => setImmediate(settle));
  log.push(`end ${item}`);
  return item;
};

test("results come in the order of the items, whichever is ready first", async () => {
  const results: number[] = [];
  for await (const result of inOrder(
    [5, 1, 3, 0, 2],
    3,
    logged([], (item) => item),
  ))
    results.push(result);
  expect(results).toEqual([5, 1, 3, 0, 2]);
});

test("so many are worked on at once, and the next begins before a result is handed out", async () => {
  const log: string[] = [];
  for await (const result of inOrder(
    [1, 2, 3, 4],
    2,
    logged(log, () => 1),
  ))
    log.push(`got ${result}`);
  const places = (...entries: string[]) => entries.map((entry) => log.indexOf(entry));
  const inThisOrder = places("begin 1", "begin 2", "end 1", "begin 3", "got 1", "begin 4", "got 2", "got 3", "got 4");
  expect(inThisOrder).toEqual(inThisOrder.toSorted((one, other) => one - other));
  expect(log).toHaveLength(12);
});

test("an error reaches the caller after the results before it, and nothing begins after it", async () => {
  const log: string[] = [];
  const seen: number[] = [];
  const work = async (item: number) => {
    log.push(`begin ${item}`);
    if (item === 2) throw new Error("number 2");
    return item;
  };
  const read = async () => {
    for await (const result of inOrder([1, 2, 3, 4], 2, work)) seen.push(result);
  };
  await expect(read()).rejects.toThrow("number 2");
  expect(seen).toEqual([1]);
  expect(log).toEqual(["begin 1", "begin 2", "begin 3"]);
});

test("without items there are no results", async () => {
  for await (const _result of inOrder([], 2, async () => {})) expect.unreachable();
});
