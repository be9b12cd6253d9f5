import { expect, test } from "vitest";
import { createQueue } from "./queue.ts";

test("no more tasks run at once than allowed, in their order, and a failed one makes way", async () => {
  const enqueue = createQueue(2);
  const log: string[] = [];
  let running = 0;
  const task = (name: string, fails = false) =>
    enqueue(async () => {
      running++;
      expect(running).toBeLessThanOrEqual(2);
      log.push(name);
      await Promise.resolve();
      running--;
      if (fails) throw new Error(name);
    });
  const outcomes = await Promise.allSettled([task("a"), task("b", true), task("c"), task("d")]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  expect(log).toEqual(["a", "b", "c", "d"]);
});
