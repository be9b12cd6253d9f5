import { expect, test } from "vitest";
import { takeTurns } from "./take-turns.ts";

const turn = () => new Promise((settle) => setImmediate(settle));

test("requests of a sender are read one after the other, and none waits for another sender's", async () => {
  const turns = takeTurns();
  const ended: string[] = [];
  const read = (sender: string, name: string) =>
    turns(sender, undefined, async () => {
      for (let step = 0; step < 3; step++) await turn();
      ended.push(name);
    });
  const hostile = ["a1", "a2", "a3"].map((name) => read("a", name));
  await read("b", "b1");
  expect(ended).not.toContain("a2");
  await Promise.all(hostile);
  expect(ended.filter((name) => name.startsWith("a"))).toEqual(["a1", "a2", "a3"]);
});

test("a request that nobody waits for any more is not read, and leaves the next its turn", async () => {
  const turns = takeTurns();
  const first = turns("a", undefined, turn);
  const left = turns("a", AbortSignal.abort(new Error("left")), async () => expect.unreachable());
  await expect(left).rejects.toThrow("left");
  await first;
  await expect(turns("a", undefined, async () => "read")).resolves.toBe("read");
});
