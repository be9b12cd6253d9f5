import { expect, test } from "vitest";
import { inOwnTurn, ownTurn } from "./yield.ts";

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
      inOwnTurn(() => {
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
  await ownTurn(20);
  const first = counter.turns();
  await ownTurn(0);
  expect(counter.turns() - first).toBeGreaterThanOrEqual(20);
  counter.stop();
});

test("a callback that throws holds up no other", async () => {
  const thrown = new Promise<unknown>((settle) => process.once("uncaughtException", settle));
  inOwnTurn(() => {
    throw new Error("broken");
  }, 1);
  await ownTurn(1);
  expect(await thrown).toMatchObject({ message: "broken" });
});
