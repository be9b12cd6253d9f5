import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { maxJsonBytes, writeJson } from "./response.ts";

test("addresses are written as the JSON of their texts, within the memory that is said to be needed", () => {
  const addresses = fc.array(fc.integer({ min: 0, max: 2 ** 32 - 1 }), { maxLength: 50 });
  const octets = [0, 9, 10, 99, 100, 255].map((octet) => octet * 0x01010101);
  fc.assert(
    fc.property(addresses, fc.nat(40), (numbers, start) => {
      // What does not fit throws, or is missing.
      const memory = Buffer.alloc(start + maxJsonBytes(numbers.length));
      const end = writeJson(Uint32Array.from(numbers), memory, start);
      expect(memory.toString("latin1", start, end)).toBe(JSON.stringify(numbers.map(numberToIpv4)));
    }),
    {
      examples: [
        [[], 0],
        [octets, 3],
        [[0], 0],
        [[2 ** 32 - 1], 0],
      ],
    },
  );
});
