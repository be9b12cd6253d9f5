import { randomBytes } from "node:crypto";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { HttpError } from "../responses/errors.ts";
import { compressPieces } from "./compression.ts";

const PIECES = Array.from({ length: 20 }, () => Buffer.from(randomBytes(32 * 1024).toString("hex")));
const BYTES = PIECES.reduce((sum, { length }) => sum + length, 0);
const UNPACK = { br: brotliDecompressSync, gzip: gunzipSync };
const { signal } = new AbortController();

/** A reservation that holds the pieces and has no bytes to spare. */
function fullMemory() {
  let used = BYTES;
  return {
    used: () => used,
    grow(bytes: number) {
      used += bytes;
      if (used > BYTES) throw new HttpError(503, "no memory");
    },
    shrink(bytes: number) {
      used -= bytes;
    },
    release() {},
  };
}

test.each(["br", "gzip"] as const)(
  "a large answer in %s needs no memory beside its own, and less when it is done",
  async (encoding) => {
    const memory = fullMemory();
    const compressed = Buffer.concat(await compressPieces(PIECES, encoding, memory, signal));
    expect(memory.used()).toBe(compressed.length);
    expect(compressed.length).toBeLessThan(0.7 * BYTES);
    expect(UNPACK[encoding](compressed).equals(Buffer.concat(PIECES))).toBe(true);
  },
);

test("when the client has gone or the time is over, compressing ends with that", async () => {
  const over = new HttpError(503, "the time is over");
  let pieces = 0;
  const deadline = {
    throwIfAborted() {
      if (++pieces > 3) throw over;
    },
  };
  await expect(compressPieces(PIECES, "gzip", fullMemory(), deadline)).rejects.toBe(over);
  expect(pieces).toBe(4);
});
