import { expect, test } from "vitest";
import { callAfterYield, runInChunks, yieldToEventLoop } from "./yield.ts";

/** Counts the turns of the event loop. */
function countTurns() {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  return {
    turns: () => turns,
    stop: () => {
      isOver = true;
    },
  };
}

test("callbacks come in their order, each as many turns after the one before as that one asked for", async () => {
  const counter = countTurns();
  const called: [name: string, turn: number][] = [];
  const call = (name: string, turnsAfter: number) =>
    new Promise<void>((settle) =>
      callAfterYield(() => {
        called.push([name, counter.turns()]);
        settle();
      }, turnsAfter),
    );
  await Promise.all([call("long", 30), call("short", 3), call("last", 0)]);
  counter.stop();
  const [long, short, last] = called.map(([, turn]) => turn);
  expect(called.map(([name]) => name)).toEqual(["long", "short", "last"]);
  expect((short ?? 0) - (long ?? 0)).toBeGreaterThanOrEqual(30);
  expect((last ?? 0) - (short ?? 0)).toBeGreaterThanOrEqual(3);
});

test("a callback that comes soon after the last one waits for the turns that one asked for", async () => {
  const counter = countTurns();
  await yieldToEventLoop(20);
  const first = counter.turns();
  await yieldToEventLoop(0);
  expect(counter.turns() - first).toBeGreaterThanOrEqual(20);
  counter.stop();
});

test("a callback that throws holds up no other", async () => {
  const thrown = new Promise<unknown>((settle) => process.once("uncaughtException", settle));
  callAfterYield(() => {
    throw new Error("broken");
  }, 1);
  await yieldToEventLoop(1);
  expect(await thrown).toMatchObject({ message: "broken" });
});

test("items are worked on in chunks, others have turns between them, and the rest is left out on demand", async () => {
  const counter = countTurns();
  const chunks: (readonly [from: number, end: number])[] = [];
  await runInChunks(10, (from, end) => void chunks.push([from, end]), 4);
  expect(chunks).toEqual([
    [0, 4],
    [4, 8],
    [8, 10],
  ]);
  expect(counter.turns()).toBeGreaterThanOrEqual(2);
  counter.stop();
  await runInChunks(10, (from) => chunks.push([from, from]) < 5, 1);
  expect(chunks.slice(3)).toEqual([
    [0, 0],
    [1, 1],
  ]);
});
