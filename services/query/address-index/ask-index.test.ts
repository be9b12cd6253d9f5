import { expect, test } from "vitest";
import { askIndex } from "./ask-index.ts";

test("what an index said that was loaded anew in the meantime does not count", async () => {
  let isCurrent = true;
  const index = {
    find: () => undefined,
    severitiesOf: () => new Uint8Array(),
    *visit() {},
    isCurrent: () => isCurrent,
  };
  expect(await askIndex(index, async () => 1)).toBe(1);
  const reloaded = askIndex(index, async () => {
    isCurrent = false;
    return 2;
  });
  expect(await reloaded).toBeUndefined();
  expect(await askIndex(index, async () => expect.unreachable())).toBeUndefined();
  expect(await askIndex(undefined, async () => expect.unreachable())).toBeUndefined();
});
