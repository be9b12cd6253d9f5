import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { decodeMessages, type FetchResponse } from "../kafkajs-patches/fetch-decoder.ts";
import { crc32c } from "./crc32c.ts";
import { batchLength, MAX_BATCH_MEMORY, readRecordBatch } from "./record-batch.ts";

const [GZIP, SNAPPY, LZ4, ZSTD] = [1, 2, 3, 4];

/** A zigzag varint, as Kafka encodes numbers in records. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value < 0 ? -2 * value - 1 : 2 * value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

const prefixed = (text: string) => Buffer.concat([varint(Buffer.byteLength(text)), Buffer.from(text)]);

/** @param index as far from the first as its offset is. */
function record(index: number, value: string, headers: readonly (readonly [string, string])[] = []): Buffer {
  const head = Buffer.concat([Buffer.from([0]), varint(index * 1_000), varint(index), varint(-1), prefixed(value)]);
  const tail = headers.flatMap(([name, text]) => [prefixed(name), prefixed(text)]);
  const body = Buffer.concat([head, varint(headers.length), ...tail]);
  return Buffer.concat([varint(body.length), body]);
}

/** A batch as a broker sends it, from offset 5,000,000,000 on. */
function batchOf(count: number, compressed: Buffer, codec = 0, lastDelta = count - 1): Buffer {
  const header = Buffer.alloc(61);
  header.writeBigInt64BE(5_000_000_000n, 0);
  header.writeInt32BE(49 + compressed.length, 8);
  header.writeInt8(2, 16);
  header.writeInt16BE(codec, 21);
  header.writeInt32BE(lastDelta, 23);
  header.writeBigInt64BE(1_790_000_000_000n, 27);
  header.writeBigInt64BE(1_790_000_000_999n, 35);
  header.writeBigInt64BE(-1n, 43);
  header.writeInt32BE(count, 57);
  const batch = Buffer.concat([header, compressed]);
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17);
  return batch;
}

/** A batch of records whose offsets are so far from its first one. */
const batchWith = (deltas: readonly number[], lastDelta = deltas.length - 1) =>
  batchOf(deltas.length, Buffer.concat(deltas.map((delta) => record(delta, `${delta}`))), 0, lastDelta);

/** A fetch response, from where it lists one partition after the other. */
function responseOf(...partitions: (readonly Buffer[])[]): FetchResponse {
  const parts = partitions.flatMap((batches) => {
    const size = Buffer.alloc(4);
    size.writeInt32BE(batches.reduce((sum, batch) => sum + batch.length, 0));
    return [size, ...batches];
  });
  return { buffer: Buffer.concat(parts), offset: 0 };
}

test("a batch of more messages than fit onto a stack is decoded, each with its offset, time and value", async () => {
  const count = 150_000;
  const batch = batchOf(count, Buffer.concat(Array.from({ length: count }, (_, index) => record(index, `${index}`))));
  const messages = await decodeMessages(responseOf([batch]));
  expect(messages).toHaveLength(count);
  expect(messages.at(-1)).toMatchObject({ offset: "5000149999", timestamp: "1790149999000", isControlRecord: false });
  expect(String(messages.at(-1)?.value)).toBe("149999");
});

test("others have their turn while a response of many batches is decoded, whichever partitions they are of", async () => {
  const batch = batchOf(1, record(0, "x".repeat(600_000)));
  const response = responseOf([batch, batch, batch, batch], [batch, batch, batch, batch]);
  let turns = 0;
  const countTurns = () => {
    turns++;
    pending = setImmediate(countTurns);
  };
  let pending = setImmediate(countTurns);
  const ofFirst = await decodeMessages(response);
  const turnsOfFirst = turns;
  const ofSecond = await decodeMessages(response);
  clearImmediate(pending);
  expect([...ofFirst, ...ofSecond]).toHaveLength(8);
  // One turn before the first batch, as the response is large, and one after the first partition's 2.4 MB.
  expect(turnsOfFirst).toBeGreaterThan(0);
  expect(turns).toBeGreaterThan(turnsOfFirst);
});

test("a response that exceeds the memory limit is decoded in part, the rest is left for the next fetch", async () => {
  const batch = batchOf(1, record(0, "x".repeat(45 * 1024 * 1024)));
  const response = responseOf([], [batch, batch], [batch, batch], [batch]);
  const read = [await decodeMessages(response), await decodeMessages(response), await decodeMessages(response)];
  expect(read.map(({ length }) => length)).toEqual([0, 2, 1]);
  expect(await decodeMessages(response)).toEqual([]);
  expect(response.offset).toBe(response.buffer.length);
});

test("thousands of headers cost time linear in their bytes, and names like __proto__ are ordinary names", async () => {
  const headers = Array.from({ length: 20_000 }, (_, index) => [`name ${index}`, "x"] as const);
  const odd = [
    ["__proto__", "a"],
    ["constructor", "b"],
    ["twice", "1"],
    ["twice", "2"],
  ] as const;
  const start = performance.now();
  const { records } = await readRecordBatch(
    batchOf(2, Buffer.concat([record(0, "many", headers), record(1, "odd", odd)])),
  );
  expect(performance.now() - start).toBeLessThan(1_000);
  expect(records.map(({ value }) => String(value))).toEqual(["many", "odd"]);
  expect(Object.entries(records[1]?.headers ?? {}).map(([name, value]) => [name, String(value)])).toEqual([
    ["__proto__", "a"],
    ["constructor", "b"],
    ["twice", "2"],
  ]);
});

const varuint = (value: number) => varint(value % 2 === 0 ? value / 2 : -(value + 1) / 2);
/** Each is too large when decompressed, or claims to be. */
const bombs: [method: string, codec: number, compressed: () => Buffer][] = [
  ["gzip", GZIP, () => Buffer.concat(Array(257).fill(gzipSync(Buffer.alloc(2 ** 20))))],
  ["snappy", SNAPPY, () => Buffer.concat([varuint(2 ** 29), Buffer.alloc(100)])],
  ["snappy in Java's frames", SNAPPY, () => xerial(Array.from({ length: 9 }, () => varuint(2 ** 26)))],
  ["lz4", LZ4, () => lz4([Buffer.concat([Buffer.from([0x1f, 0x00, 0x01, 0x00]), Buffer.alloc(2 ** 22, 0xff)])])],
  [
    "zstd",
    ZSTD,
    () =>
      zstd(
        0x38,
        Array.from({ length: 5_000 }, () => ({ type: 1, length: 128 * 1024 })),
      ),
  ],
];

function xerial(blocks: readonly Buffer[]): Buffer {
  const header = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00, 0, 0, 0, 1, 0, 0, 0, 1]);
  const sizedBlocks = blocks.flatMap((block) => [Buffer.from([0, 0, 0, block.length]), block]);
  return Buffer.concat([header, ...sizedBlocks]);
}

function lz4(blocks: readonly Buffer[]): Buffer {
  const parts = blocks.flatMap((block) => {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(block.length);
    return [size, block];
  });
  return Buffer.concat([Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]), ...parts, Buffer.alloc(4)]);
}

/** @param window as the format writes it: 0xa8 is two gigabytes. */
function zstd(window: number, blocks: readonly { type: number; length: number }[]): Buffer {
  const parts = blocks.map(({ type, length }, index) => {
    const head = Buffer.alloc(4);
    head.writeUIntLE((length << 3) | (type << 1) | Number(index === blocks.length - 1), 0, 3);
    return head;
  });
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, window]), ...parts]);
}

test.each(bombs)("a bomb compressed with %s is not decompressed", async (_method, codec, compressed) => {
  const batch = batchOf(3, compressed(), codec);
  const before = process.memoryUsage().rss;
  const start = performance.now();
  const { records } = await readRecordBatch(batch);
  expect(performance.now() - start).toBeLessThan(10_000);
  expect(process.memoryUsage().rss - before).toBeLessThan(2 * MAX_BATCH_MEMORY);
  expect(records).toMatchObject([{ offset: "5000000002", key: null, headers: {} }]);
  expect(records[0]?.damage).toMatch(/^the batch of offsets 5000000000 to 5000000002 cannot be decoded: /);
  expect(records[0]?.value?.equals(batch)).toBe(true);
});

test("a zstd frame with a huge window and tiny blocks is decompressed fast", async () => {
  const compressed = zstd(
    0xa0,
    Array.from({ length: 20_000 }, () => ({ type: 1, length: 1 })),
  );
  const start = performance.now();
  const { records } = await readRecordBatch(batchOf(1, compressed, ZSTD));
  expect(performance.now() - start).toBeLessThan(1_000);
  expect(records[0]?.damage).toMatch("cannot be decoded");
});

test.each([
  ["millions of records without bytes", batchOf(2_000_000_000, Buffer.alloc(100))],
  ["a record longer than its batch", batchOf(1, varint(1_000))],
  ["a key longer than its record", batchOf(1, Buffer.concat([varint(8), Buffer.from([0, 0, 0]), varint(100_000)]))],
  ["an endless number", batchOf(1, Buffer.alloc(20, 0xff))],
  ["fewer records than it says", batchOf(2, record(0, "one"))],
  ["more records than it says", batchOf(1, Buffer.concat([record(0, "one"), record(1, "two")]), 0, 1)],
  [
    "more records, compressed, than it says",
    batchOf(1, gzipSync(Buffer.concat([record(0, "one"), record(1, "two")])), GZIP, 1),
  ],
  ["a negative number of records", batchOf(-1, record(0, "one"))],
  ["offsets before its base offset", batchWith([-5, -4, -3])],
  ["offsets beyond its last offset", batchWith([1_000_000, 1_000_001, 1_000_002])],
  ["one offset for all of its records", batchWith([0, 0, 0])],
  ["offsets in no order", batchWith([1, 0, 2])],
  ["an unknown compression", batchOf(1, record(0, "one"), 7)],
  ["bytes that are not gzip", batchOf(1, Buffer.from("not gzip"), GZIP)],
  ["bytes that are not snappy", batchOf(1, Buffer.from("not snappy"), SNAPPY)],
  ["bytes that are not lz4", batchOf(1, Buffer.from("not lz4 at all"), LZ4)],
  ["bytes that are not zstd", batchOf(1, Buffer.from("not zstd"), ZSTD)],
])("a batch with %s becomes one message that stands for it", async (_what, batch) => {
  const { records } = await readRecordBatch(batch);
  expect(records).toHaveLength(1);
  expect(records[0]?.damage).toMatch("cannot be decoded");
  expect(records[0]?.value?.equals(batch)).toBe(true);
});

test("a batch that is cut off at the end of the response is left for the next fetch", () => {
  const batch = batchOf(1, record(0, "one"));
  expect(batchLength(Buffer.concat([batch, batch]))).toBe(batch.length);
  expect(batchLength(batch.subarray(0, batch.length - 1))).toBeUndefined();
  expect(batchLength(batch.subarray(0, 10))).toBeUndefined();
});

test("a compacted batch gives its remaining records, and then its end", async () => {
  const { records } = await readRecordBatch(batchWith([1, 4], 9));
  expect(records).toMatchObject([
    { offset: "5000000001", value: Buffer.from("1"), isControlRecord: false },
    { offset: "5000000004", value: Buffer.from("4"), isControlRecord: false },
    { offset: "5000000009", key: null, value: null, isControlRecord: true },
  ]);
});

test.each([0, GZIP])("a batch whose records were all compacted away gives its end", async (codec) => {
  const { records } = await readRecordBatch(batchOf(0, Buffer.alloc(0), codec, 9));
  expect(records).toMatchObject([{ offset: "5000000009", key: null, value: null, isControlRecord: true }]);
});

test("a batch with any one bit flipped delivers no record, and all its bytes are kept", async () => {
  const batch = batchWith([0, 1, 2]);
  // The checksum does not cover the bytes before it, which the broker sets.
  for (let bit = 8 * 17; bit < 8 * batch.length; bit++) {
    const flipped = Buffer.from(batch);
    flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    const { records } = await readRecordBatch(flipped);
    expect(records).toMatchObject([{ key: null, isControlRecord: false, batchContext: { inTransaction: false } }]);
    expect(records[0]?.damage).toMatch("checksum mismatch");
    expect(records[0]?.value?.equals(flipped)).toBe(true);
    const offset = Number(records[0]?.offset);
    expect(offset >= 5_000_000_000 && offset <= 5_000_000_002, `bit ${bit}: the offset ${offset} is of the batch`).toBe(
      true,
    );
  }
});

test("after a corrupt batch nothing is decoded until the next response", async () => {
  const [good, changed] = [batchWith([0]), batchWith([0])];
  changed.writeUInt8(changed.readUInt8(66) ^ 1, 66);
  const response = responseOf([good, changed, good], [good]);
  expect((await decodeMessages(response)).map(({ damage }) => damage !== undefined)).toEqual([false, true]);
  expect(await decodeMessages(response)).toHaveLength(1);
});
