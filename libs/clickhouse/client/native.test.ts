import { expect, test } from "vitest";
import { IncompleteResponseError } from "./errors.ts";
import { type Block, readBlocks } from "./native.ts";

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

/** The blocks of a response that arrives in pieces of a size in bytes. */
async function read(response: Buffer, size = response.length): Promise<readonly Block[]> {
  async function* pieces() {
    for (let at = 0; at < response.length; at += size) yield response.subarray(at, at + size);
  }
  const blocks: Block[] = [];
  for await (const block of readBlocks(pieces())) blocks.push(block);
  return blocks;
}

test("blocks are read column by column, wide numbers as words with the lowest first, in whatever pieces they come", async () => {
  const response = Buffer.concat([FIRST, SECOND]);
  for (let size = 1; size <= response.length; size++) {
    expect(await read(response, size), `${size} bytes`).toEqual([
      {
        rows: 2,
        columns: {
          source_ip: Uint32Array.of(0x01020304, 0xffff_ffff),
          start: Uint32Array.of(1, 256),
          hours: Uint32Array.of(1, 2, 3, 0x8000_0000),
        },
      },
      { rows: 1, columns: { bits: Uint32Array.of(0, 0, 0, 0x0100_0000) } },
    ]);
  }
});

test("columns of arrays are read as their values, and texts and short numbers are read, in whatever pieces they come", async () => {
  const response = Buffer.concat([
    Buffer.from([5, 3]),
    column("addresses", "SimpleAggregateFunction(groupUniqArrayArray, Array(IPv4))", [
      ...[2, 2, 3].flatMap((end) => [end, 0, 0, 0, 0, 0, 0, 0]),
      ...[4, 3, 2, 1, 255, 255, 255, 255, 1, 0, 0, 0],
    ]),
    column("hash_from", "UInt32", [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]),
    column("names", "Array(String)", [...[1, 1, 2].flatMap((end) => [end, 0, 0, 0, 0, 0, 0, 0]), 1, 65, 2, 0xc3, 0xa9]),
    column("severity", "UInt8", [1, 255, 3]),
    column("ports", "UInt16", [1, 0, 0xe7, 3, 22, 0]),
  ]);
  const columns = {
    addresses: Uint32Array.of(0x01020304, 0xffff_ffff, 1),
    hash_from: Uint32Array.of(1, 2, 3),
    names: ["A", "é"],
    severity: Uint8Array.of(1, 255, 3),
    ports: Uint16Array.of(1, 999, 22),
  };
  for (let size = 1; size <= response.length; size++)
    expect(await read(response, size)).toEqual([{ rows: 3, columns }]);
  for (let length = 1; length < response.length; length++) {
    await expect(read(response.subarray(0, length)), `${length} bytes`).rejects.toThrow(IncompleteResponseError);
  }
});

test("a block is read before the next one has come", async () => {
  let isAsked = false;
  async function* pieces() {
    yield FIRST;
    isAsked = true;
    yield SECOND;
  }
  const blocks = readBlocks(pieces());
  expect((await blocks.next()).value).toMatchObject({ rows: 2 });
  expect(isAsked).toBe(false);
});

test("a response is ended when its reader stops, or cannot read it", async () => {
  let ended = 0;
  async function* endless(piece: Buffer) {
    try {
      for (;;) yield piece;
    } finally {
      ended++;
    }
  }
  for await (const _block of readBlocks(endless(FIRST))) break;
  expect(ended).toBe(1);
  const broken = Buffer.from("Code: 241. DB::Exception: Memory limit exceeded (for query), while executing");
  await expect(readBlocks(endless(broken)).next()).rejects.toThrow(IncompleteResponseError);
  expect(ended).toBe(2);
});

test("more than 127 rows are stated in two bytes", async () => {
  const response = Buffer.concat([Buffer.from([1, 0xac, 2]), column("a", "UInt32", Array(1_200).fill(1))]);
  expect(await read(response)).toEqual([{ rows: 300, columns: { a: new Uint32Array(300).fill(0x01010101) } }]);
});

test("an empty response has no blocks and no rows", async () => {
  expect(await read(Buffer.alloc(0))).toEqual([]);
});

test("a block that is cut anywhere is an error", async () => {
  for (let length = 1; length < FIRST.length; length++) {
    await expect(read(FIRST.subarray(0, length)), `${length} bytes`).rejects.toThrow(IncompleteResponseError);
  }
});

test("a response that holds anything but numbers and texts is an error", async () => {
  for (const type of ["Nullable(UInt32)", "LowCardinality(String)", "Array(Array(UInt32))"]) {
    const other = Buffer.concat([Buffer.from([1, 1]), column("name", type, [1, 65])]);
    await expect(read(other)).rejects.toThrow(`the response has a column of type ${type}`);
  }
  await expect(read(Buffer.from("Code: 241. DB::Exception: Memory limit exceeded"))).rejects.toThrow(
    IncompleteResponseError,
  );
});
