import { expect, test } from "vitest";
import { oneAhead } from "./one-ahead.ts";

const tasksOf = (numbers: readonly number[], log: string[], failing?: number) =>
  numbers.map((number) => async () => {
    log.push(`start ${number}`);
    await Promise.resolve();
    if (number === failing) throw new Error(`task ${number}`);
    return number;
  });

test("results come in order, the next task starts before a result is handled, and never two run at once", async () => {
  const log: string[] = [];
  for await (const result of oneAhead(tasksOf([1, 2, 3], log))) {
    log.push(`got ${result}`);
    await new Promise((settle) => setImmediate(settle));
  }
  expect(log).toEqual(["start 1", "start 2", "got 1", "start 3", "got 2", "got 3"]);
});

test("the error of a task reaches the caller after the results before it, and no task after it runs", async () => {
  const log: string[] = [];
  const seen: number[] = [];
  const read = async () => {
    for await (const result of oneAhead(tasksOf([1, 2, 3, 4], log, 2))) seen.push(result);
  };
  await expect(read()).rejects.toThrow("task 2");
  expect(seen).toEqual([1]);
  expect(log).not.toContain("start 3");
});

test("without tasks there are no results", async () => {
  for await (const _result of oneAhead([])) expect.unreachable();
});
