import { expect, test } from "vitest";
import { keepRenderedBodies, renderBody } from "./rendered.ts";

test("a body that takes more than a quarter of the memory is not kept, and evicts no other", async () => {
  const bodies = keepRenderedBodies(400);
  const written: string[] = [];
  const get = (key: string, bytes: number) =>
    bodies.get(key, () => {
      written.push(key);
      return renderBody(["x".repeat(bytes)], () => {});
    });
  await get("small", 100);
  await Promise.all([get("large", 101), get("large", 101)]);
  await get("small", 100);
  await get("large", 101);
  expect(written).toEqual(["small", "large", "large"]);
});

test("a body reserves each piece before it keeps it, and ends where there is no memory", async () => {
  const reserved: number[] = [];
  const body = await renderBody(["x".repeat(70_000), "y"], (bytes) => reserved.push(bytes));
  expect([reserved, body.bytes]).toEqual([[70_000, 1], 70_001]);
  const full = () => {
    throw new RangeError("full");
  };
  await expect(renderBody(["x"], full)).rejects.toThrow("full");
});
