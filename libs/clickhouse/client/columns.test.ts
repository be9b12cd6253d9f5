import { expect, test } from "vitest";
import { type RowReader, readRow } from "./columns.ts";
import { IncompleteResponseError } from "./errors.ts";

/** A row of UInt64, Array(UInt64), String, Array(UInt8), Array(UInt16), Array(UInt32) and Array(String), as RowBinary. */
const ROW = Buffer.concat([
  Buffer.from([7, 0, 0, 0, 1, 0, 0, 0]),
  Buffer.from([2, 7, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]),
  Buffer.from([3]),
  Buffer.from("abc"),
  Buffer.from([2, 1, 255]),
  Buffer.from([2, 1, 0, 0xe7, 3]),
  Buffer.from([1, 0xff, 0xff, 0xff, 0xff]),
  Buffer.from([2, 1, 0x78, 0]),
]);

const read = (row: RowReader) => [
  row.uint64(),
  row.uint64s(),
  row.string(),
  [...row.uint8s()],
  [...row.uint16s()],
  [...row.uint32s()],
  row.strings(),
];

test("a row is read column by column", () => {
  expect(readRow(ROW, "test", read)).toEqual([
    2 ** 32 + 7,
    [2 ** 32 + 7, 9],
    "abc",
    [1, 255],
    [1, 999],
    [0xffff_ffff],
    ["x", ""],
  ]);
});

test("lengths from 128 take more than one byte", () => {
  const array = Buffer.concat([Buffer.from([0xac, 2]), Buffer.alloc(300, 9)]);
  expect(readRow(array, "test", (row) => row.uint8s().length)).toBe(300);
});

test("a response cut at any byte, or longer than its row, is an error", () => {
  for (let end = 0; end < ROW.length; end++) {
    expect(() => readRow(ROW.subarray(0, end), "test", read), `cut after ${end}`).toThrow(IncompleteResponseError);
  }
  expect(() => readRow(Buffer.concat([ROW, Buffer.from([0])]), "test", read)).toThrow(IncompleteResponseError);
});
