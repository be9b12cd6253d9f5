import { expect, test } from "vitest";
import { limitConcurrency } from "./concurrency.ts";

test("as many run as may, in the order in which they came, and one that fails lets the next one run", async () => {
  const limited = limitConcurrency(2);
  const started: number[] = [];
  const ends = new Map<number, (error?: Error) => void>();
  const all = [0, 1, 2, 3].map((each) =>
    limited(
      () =>
        new Promise<number>((settle, fail) => {
          started.push(each);
          ends.set(each, (error) => (error === undefined ? settle(each) : fail(error)));
        }),
    ),
  );
  expect(started).toEqual([0, 1]);
  ends.get(1)?.(new RangeError("failed"));
  await expect(all[1]).rejects.toThrow("failed");
  expect(started).toEqual([0, 1, 2]);
  ends.get(2)?.();
  expect(await all[2]).toBe(2);
  expect(started).toEqual([0, 1, 2, 3]);
  for (const each of [0, 3]) ends.get(each)?.();
  expect(await Promise.all([all[0], all[3]])).toEqual([0, 3]);
  expect(await limited(async () => "later")).toBe("later");
});
