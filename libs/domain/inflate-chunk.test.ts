import { expect, test } from "vitest";
import { inflateChunkBytes } from "./inflate-chunk.ts";

const KIB = 1024;

test.each([
  ["a body of unknown size has no more than zlib's default", 0, 16 * KIB],
  ["a small body", 1 * KIB, 16 * KIB],
  ["a body gets what it probably decompresses to", 10 * KIB, 100 * KIB],
  ["a large body, whatever its sender claims", 2 ** 40, 256 * KIB],
  ["a file", undefined, 256 * KIB],
])("%s", (_what, compressedBytes, expected) => {
  expect(inflateChunkBytes(compressedBytes)).toBe(expected);
});
