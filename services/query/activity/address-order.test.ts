import { expect, test } from "vitest";
import { byUpperHalf } from "./address-order.ts";

test("many addresses come in the order of their upper halves, each as often as before", () => {
  let random = 7;
  const addresses = Uint32Array.from({ length: 10_000 }, (_, place) => {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    // The first, the last and a repeated one too.
    return [0, 0xffff_ffff, 0x0001_0000, 0x0000_ffff, random, random % 0x0003_0000][place % 6] ?? 0;
  });
  const ordered = byUpperHalf(addresses);
  expect(ordered.every((address, place) => place === 0 || address >>> 16 >= (ordered[place - 1] ?? 0) >>> 16)).toBe(
    true,
  );
  expect(ordered.toSorted()).toEqual(addresses.toSorted());
});

test("no address and a single one are themselves", () => {
  expect(byUpperHalf(new Uint32Array())).toEqual(new Uint32Array());
  expect(byUpperHalf(Uint32Array.of(5))).toEqual(Uint32Array.of(5));
});
