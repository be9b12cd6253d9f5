import { expect, test } from "vitest";
import { inOrder, oneAhead } from "./in-order.ts";

/** Logs its beginning and its end, which comes after some turns. */
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

test("up to the given number are worked on at a time, and the next begins before a result is handed out", async () => {
  const log: string[] = [];
  for await (const result of inOrder(
    [1, 2, 3, 4],
    2,
    logged(log, () => 1),
  ))
    log.push(`got ${result}`);
  const positions = (...entries: string[]) => entries.map((entry) => log.indexOf(entry));
  const inThisOrder = positions(
    "begin 1",
    "begin 2",
    "end 1",
    "begin 3",
    "got 1",
    "begin 4",
    "got 2",
    "got 3",
    "got 4",
  );
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

async function* counted(numbers: readonly number[], log: string[], failing?: number): AsyncGenerator<number> {
  for (const number of numbers) {
    log.push(`start ${number}`);
    await Promise.resolve();
    if (number === failing) throw new Error(`number ${number}`);
    yield number;
  }
}

test("a generator's results come in order, the next one begins before a result is handled, and never two at the same time", async () => {
  const log: string[] = [];
  for await (const result of oneAhead(counted([1, 2, 3], log))) {
    log.push(`got ${result}`);
    await new Promise((settle) => setImmediate(settle));
  }
  expect(log).toEqual(["start 1", "start 2", "got 1", "start 3", "got 2", "got 3"]);
});

test("a generator's error reaches the caller after the results before it, and nothing after it begins", async () => {
  const log: string[] = [];
  const seen: number[] = [];
  const read = async () => {
    for await (const result of oneAhead(counted([1, 2, 3, 4], log, 2))) seen.push(result);
  };
  await expect(read()).rejects.toThrow("number 2");
  expect(seen).toEqual([1]);
  expect(log).not.toContain("start 3");
});
