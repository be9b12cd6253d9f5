import { expect, test } from "vitest";
import { oneAhead } from "./one-ahead.ts";

async function* counted(numbers: readonly number[], log: string[], failing?: number): AsyncGenerator<number> {
  for (const number of numbers) {
    log.push(`start ${number}`);
    await Promise.resolve();
    if (number === failing) throw new Error(`number ${number}`);
    yield number;
  }
}

test("results come in order, the next one begins before a result is handled, and never two at once", async () => {
  const log: string[] = [];
  for await (const result of oneAhead(counted([1, 2, 3], log))) {
    log.push(`got ${result}`);
    await new Promise((settle) => setImmediate(settle));
  }
  expect(log).toEqual(["start 1", "start 2", "got 1", "start 3", "got 2", "got 3"]);
});

test("an error reaches the caller after the results before it, and nothing after it begins", async () => {
  const log: string[] = [];
  const seen: number[] = [];
  const read = async () => {
    for await (const result of oneAhead(counted([1, 2, 3, 4], log, 2))) seen.push(result);
  };
  await expect(read()).rejects.toThrow("number 2");
  expect(seen).toEqual([1]);
  expect(log).not.toContain("start 3");
});

test("without results there are none", async () => {
  for await (const _result of oneAhead(counted([], []))) expect.unreachable();
});
