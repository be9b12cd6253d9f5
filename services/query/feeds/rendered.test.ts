import { expect, test } from "vitest";
import { keepRenderedBodies } from "./rendered.ts";

test("a body that takes more than a quarter of the memory is not kept, and evicts no other", async () => {
  const bodies = keepRenderedBodies(400);
  const written: string[] = [];
  const get = (key: string, bytes: number) =>
    bodies.get(key, () => {
      written.push(key);
      return ["x".repeat(bytes)];
    });
  await get("small", 100);
  await Promise.all([get("large", 101), get("large", 101)]);
  await get("small", 100);
  await get("large", 101);
  expect(written).toEqual(["small", "large", "large"]);
});
