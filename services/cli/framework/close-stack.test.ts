import { expect, test } from "vitest";
import { createCloseStack } from "./close-stack.ts";

test("parts close one after another, the last opened first, and only once", async () => {
  const closed: string[] = [];
  const stack = createCloseStack();
  stack.add(() => closed.push("store"));
  stack.add(async () => {
    await Promise.resolve();
    closed.push("cache");
  });
  await stack.closeAll();
  await stack.closeAll();
  expect(closed).toEqual(["cache", "store"]);
});
