import { expect, test } from "vitest";
import { IncompleteAnswerError } from "./errors.ts";
import { readNumberBlocks } from "./native.ts";

const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
const column = (name: string, type: string, bytes: readonly number[]) =>
  Buffer.concat([text(name), text(type), Buffer.from(bytes)]);
/** Of two rows, then of one. */
const FIRST = Buffer.concat([
  Buffer.from([3, 2]),
  column("source_ip", "IPv4", [4, 3, 2, 1, 255, 255, 255, 255]),
  column("start", "DateTime('UTC')", [1, 0, 0, 0, 0, 1, 0, 0]),
  column("hours", "SimpleAggregateFunction(groupBitOr, UInt64)", [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0x80]),
]);
const SECOND = Buffer.concat([Buffer.from([1, 1]), column("bits", "UInt128", [...Array(15).fill(0), 1])]);

test("blocks are read column by column, wide numbers as words with the lowest first", () => {
  expect(readNumberBlocks(Buffer.concat([FIRST, SECOND]))).toEqual({
    blocks: [
      {
        source_ip: Uint32Array.of(0x01020304, 0xffff_ffff),
        start: Uint32Array.of(1, 256),
        hours: Uint32Array.of(1, 2, 3, 0x8000_0000),
      },
      { bits: Uint32Array.of(0, 0, 0, 0x0100_0000) },
    ],
    rows: 3,
  });
});

test("more than 127 rows are stated in two bytes", () => {
  const { blocks, rows } = readNumberBlocks(
    Buffer.concat([Buffer.from([1, 0xac, 2]), column("a", "UInt32", Array(1_200).fill(1))]),
  );
  expect([rows, blocks[0]?.a?.length, blocks[0]?.a?.[299]]).toEqual([300, 300, 0x01010101]);
});

test("an empty answer has no blocks and no rows", () => {
  expect(readNumberBlocks(Buffer.alloc(0))).toEqual({ blocks: [], rows: 0 });
});

test("a block that is cut anywhere is an error", () => {
  for (let length = 1; length < FIRST.length; length++) {
    expect(() => readNumberBlocks(FIRST.subarray(0, length)), `${length} bytes`).toThrow(IncompleteAnswerError);
  }
});

test("an answer that holds anything but numbers is an error", () => {
  const other = Buffer.concat([Buffer.from([1, 1]), column("name", "String", [1, 65])]);
  expect(() => readNumberBlocks(other)).toThrow("the answer has a column of type String");
  expect(() => readNumberBlocks(Buffer.from("Code: 241. DB::Exception: Memory limit exceeded"))).toThrow(
    IncompleteAnswerError,
  );
});
