import { expect, test } from "vitest";
import { addressHash } from "./address-hash.ts";

test("hash values are those of ClickHouse's intHash32", () => {
  expect(
    [0, 1, 0x2d00_0000, 0x7fff_ffff, 0x8000_0000, 0xcb00_7107, 0xffff_ffff].map((address) => addressHash(address)),
  ).toEqual([4249604106, 1343103100, 2669100148, 1334432569, 3805774551, 1341182950, 3983947013]);
});
