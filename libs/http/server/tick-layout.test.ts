import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { keepTickLayout, keptTick } from "./tick-layout.ts";

test("an object as process.nextTick makes it is kept, and no other takes its place", async () => {
  keepTickLayout();
  await nextTurn();
  const kept = keptTick();
  expect(kept).toHaveProperty("callback", expect.any(Function));
  keepTickLayout();
  await nextTurn();
  expect(keptTick()).toBe(kept);
});
