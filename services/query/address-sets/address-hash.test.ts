import fc from "fast-check";
import { expect, test } from "vitest";
import { addressHash } from "./address-hash.ts";

test("hash values are those of ClickHouse's intHash32", () => {
  expect(
    [0, 1, 0x2d00_0000, 0x7fff_ffff, 0x8000_0000, 0xcb00_7107, 0xffff_ffff].map((address) => addressHash(address)),
  ).toEqual([4249604106, 1343103100, 2669100148, 1334432569, 3805774551, 1341182950, 3983947013]);
});

test("the hash value computed on 32-bit halves is the one that is defined on 64 bits", () => {
  const rotated = (value: bigint, bits: bigint) => (value >> bits) | (value << (64n - bits));
  const hashOf = (address: number) => {
    const wrap = (value: bigint) => BigInt.asUintN(64, value);
    let value = BigInt(address) ^ 0x75d9_543d_e018_bf45n;
    value = wrap(~value + (value << 18n));
    value = wrap(value ^ rotated(value, 31n));
    value = wrap(value * 21n);
    value = wrap(value ^ rotated(value, 11n));
    value = wrap(value + (value << 6n));
    return Number(BigInt.asUintN(32, value ^ rotated(value, 22n)));
  };
  const address = fc.integer({ min: 0, max: 0xffff_ffff });
  fc.assert(
    fc.property(address, (number) => addressHash(number) === hashOf(number)),
    { numRuns: 5_000 },
  );
});
