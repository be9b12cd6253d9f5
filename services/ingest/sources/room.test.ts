import { expect, test } from "vitest";
import { type Room, roomFor } from "./room.ts";

function enter(room: Room) {
  const stay = room.enter();
  return { ...stay, leave: stay.hold() };
}

test("a room takes in what fits, and what has left makes room again, however often it says so", () => {
  const room = roomFor(100);
  const [first, second, third] = [enter(room), enter(room), enter(room)];
  expect([first.grow(50), second.grow(40), first.grow(10)]).toEqual([true, true, true]);
  expect([third.grow(1), room.hasSpace(1)]).toEqual([false, false]);
  first.leave();
  first.leave();
  expect([room.hasSpace(61), room.hasSpace(60)]).toEqual([false, true]);
  second.leave();
  expect(third.grow(100)).toBe(true);
});

test("an empty room takes in what would never fit, as long as it is alone", () => {
  const room = roomFor(100);
  const [large, other] = [enter(room), enter(room)];
  expect([large.grow(60), large.grow(1_000)]).toEqual([true, true]);
  expect(other.grow(1)).toBe(false);
  large.leave();
  expect(other.grow(1)).toBe(true);
});

test("a stay ends when the last of its holders has let go, and takes nothing after that", () => {
  const room = roomFor(100);
  const stay = enter(room);
  stay.grow(80);
  const letGo = stay.hold();
  stay.leave();
  expect(room.hasSpace(50)).toBe(false);
  letGo();
  expect(room.hasSpace(100)).toBe(true);
  expect(stay.grow(1)).toBe(false);
});
