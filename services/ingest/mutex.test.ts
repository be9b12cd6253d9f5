import { expect, test } from "vitest";
import { createMutex } from "./mutex.ts";

test("one has the turn at a time, in the order in which they ask", async () => {
  const lock = createMutex();
  const order: string[] = [];
  const take = async (name: string) => {
    const unlock = await lock();
    order.push(name);
    return unlock;
  };
  const first = await take("first");
  const [second, third] = [take("second"), take("third")];
  await new Promise(setImmediate);
  expect(order).toEqual(["first"]);
  first();
  first();
  (await second)();
  await third;
  expect(order).toEqual(["first", "second", "third"]);
});

test("one who no longer waits does not hold up the next, nor lets it go too soon", async () => {
  const lock = createMutex();
  const unlock = await lock();
  const gone = new AbortController();
  const second = lock(gone.signal);
  let hasTurn = false;
  const third = lock().then(() => {
    hasTurn = true;
  });
  gone.abort(new Error("gone"));
  await expect(second).rejects.toThrow("gone");
  await new Promise(setImmediate);
  expect(hasTurn).toBe(false);
  unlock();
  await third;
});
