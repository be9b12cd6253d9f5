import { expect, test } from "vitest";
import { createTurns } from "./mutex.ts";

test("one has the turn at a time, in the order in which they ask", async () => {
  const takeTurn = createTurns();
  const order: string[] = [];
  const take = async (name: string) => {
    const giveBack = await takeTurn();
    order.push(name);
    return giveBack;
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
  const takeTurn = createTurns();
  const giveBack = await takeTurn();
  const gone = new AbortController();
  const second = takeTurn(gone.signal);
  let hasTurn = false;
  const third = takeTurn().then(() => {
    hasTurn = true;
  });
  gone.abort(new Error("gone"));
  await expect(second).rejects.toThrow("gone");
  await new Promise(setImmediate);
  expect(hasTurn).toBe(false);
  giveBack();
  await third;
});
