import { expect, test } from "vitest";
import { crc32c } from "./crc32c.ts";

test.each([
  ["no bytes", Buffer.alloc(0), 0],
  ["nine digits", Buffer.from("123456789"), 0xe3069283],
  ["zeros", Buffer.alloc(32), 0x8a9136aa],
  ["ones", Buffer.alloc(32, 0xff), 0x62a8ab43],
  ["one byte after the other", Buffer.from(Array.from({ length: 32 }, (_, index) => index)), 0x46dd794e],
])("the checksum of %s is the one that RFC 3720 gives", (_what, bytes, checksum) => {
  expect(crc32c(bytes)).toBe(checksum);
  expect(crc32c(Buffer.concat([Buffer.from("x"), bytes]).subarray(1)), "at any offset in memory").toBe(checksum);
});
