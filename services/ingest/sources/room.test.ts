import { expect, test } from "vitest";
import { roomFor } from "./room.ts";

test("a room takes in what fits, and what has left makes room again, however often it says so", () => {
  const room = roomFor(100);
  const [first, second] = [room.enter(60), room.enter(40)];
  expect(room.enter(1)).toBeUndefined();
  first?.();
  first?.();
  expect(room.enter(61)).toBeUndefined();
  expect(room.enter(60)).toBeDefined();
  second?.();
  expect(room.enter(40)).toBeDefined();
});

test("an empty room takes in what would never fit", () => {
  const room = roomFor(100);
  const leave = room.enter(1_000);
  expect(leave).toBeDefined();
  expect(room.enter(1)).toBeUndefined();
  leave?.();
  expect(room.enter(1)).toBeDefined();
});
