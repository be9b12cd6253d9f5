import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { addressesAsJson, decodeAddresses } from "./listed-addresses.ts";

test("addresses are the JSON of their texts", () => {
  const addresses = fc.array(fc.integer({ min: 0, max: 2 ** 32 - 1 }), { maxLength: 50 });
  const octets = [0, 9, 10, 99, 100, 255].map((octet) => octet * 0x01010101);
  fc.assert(
    fc.property(addresses, (numbers) => {
      expect(addressesAsJson(Uint32Array.from(numbers))).toBe(JSON.stringify(numbers.map(numberToIpv4)));
    }),
    { examples: [[[]], [octets]] },
  );
});

test("listed addresses have four bytes each, the lowest first", () => {
  expect([...decodeAddresses(Buffer.from([4, 3, 2, 1, 255, 0, 0, 45]).toString("base64"))].map(numberToIpv4)).toEqual([
    "1.2.3.4",
    "45.0.0.255",
  ]);
});
