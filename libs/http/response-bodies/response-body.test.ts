import { once } from "node:events";
import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { JsonBytes, jsonArrayMaker, serializeResponse, streamPieces } from "./response-body.ts";

const unlimited = { grow: () => {}, shrink: () => {}, release: () => {} };
const forEver = new AbortController().signal;
const serialize = async (value: unknown) => {
  const body = await serializeResponse(value, unlimited, forEver);
  return typeof body === "string" ? body : Buffer.concat(body).toString();
};

test("an answer's bytes are those of JSON.stringify, whether it is serialised at once or in pieces", async () => {
  const row = fc.jsonValue();
  const rows = fc.oneof(fc.array(row, { maxLength: 3 }), fc.array(row, { minLength: 101, maxLength: 110 }));
  const answer = fc.record({ data: rows, none: fc.constant(undefined), metadata: fc.record({ "some \n": rows }) });
  await fc.assert(
    fc.asyncProperty(fc.oneof(answer, rows, row), async (value) => {
      expect(await serialize(value)).toBe(JSON.stringify(value));
    }),
    { numRuns: 200 },
  );
});

test("rows serialised one by one give the same JSON as an array", async () => {
  const toJsonArray = jsonArrayMaker(unlimited, forEver);
  const rows = Array.from({ length: 5_000 }, (_, number) => ({ number, text: "é".repeat(number % 40) }));
  async function* read() {
    yield* rows;
  }
  const written = rows.map(
    (row) => new JsonBytes<typeof row>(4_096, (memory, at) => at + memory.write(JSON.stringify(row), at)),
  );
  const mixed = rows.map((row, index) => (index % 3 === 0 ? row : (written[index] ?? row)));
  const list = await toJsonArray(read());
  const arrays = { list, written: await toJsonArray(written), mixed: await toJsonArray(mixed) };
  const made = { id: "x", data: { ...arrays, empty: await toJsonArray([]) }, end: 1 };
  const data = { list: rows, written: rows, mixed: rows, empty: [] };
  expect(await serialize(made)).toBe(JSON.stringify({ id: "x", data, end: 1 }));
});

test("a short answer is one piece, whatever it is made of", async () => {
  const toJsonArray = jsonArrayMaker(unlimited, forEver);
  const piecesOf = async (length: number) =>
    serializeResponse({ a: await toJsonArray(["x".repeat(length)]), b: 1 }, unlimited, forEver);
  expect(await piecesOf(1_000)).toEqual([Buffer.from(JSON.stringify({ a: ["x".repeat(1_000)], b: 1 }))]);
  expect((await piecesOf(100_000)).length).toBeGreaterThan(1);
});

test("what items write themselves holds hardly more memory than is reserved for it", async () => {
  const item = new JsonBytes(2_000, (memory, start) => start + memory.write(JSON.stringify("x".repeat(1_000)), start));
  for (const items of [1, 3, 100, 1_000]) {
    let reserved = 0;
    const grow = (bytes: number) => {
      reserved += bytes;
    };
    const counting = { ...unlimited, grow };
    const { pieces } = await jsonArrayMaker(counting, forEver)(Array.from({ length: items }, () => item));
    // Short texts share the pool.
    const memory = new Set(
      pieces.map(({ buffer }) => buffer).filter(({ byteLength }) => byteLength !== Buffer.poolSize),
    );
    const held = [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(held).toBeLessThanOrEqual(2 * reserved);
  }
});

test("other requests get their turn while a large answer is serialised", async () => {
  const toJsonArray = jsonArrayMaker(unlimited, forEver);
  const row = { text: "x".repeat(500), numbers: Array.from({ length: 50 }, (_, number) => number) };
  let isDone = false;
  const made = toJsonArray(Array.from({ length: 40_000 }, () => row)).then(() => {
    isDone = true;
  });
  let turns = 0;
  for (; !isDone; turns++) await sleep(0);
  await made;
  expect(turns).toBeGreaterThan(3);
});

test("other requests get their turn while a large answer is written, however fast its reader is", async () => {
  const pieces = Array.from({ length: 128 }, () => Buffer.alloc(64 * 1024));
  let turns = 0;
  let immediate = setImmediate(function count() {
    turns++;
    immediate = setImmediate(count);
  });
  const reader = new Writable({ write: (_chunk, _encoding, done) => done() });
  await pipeline(streamPieces(pieces, unlimited), reader);
  clearImmediate(immediate);
  // Several for each of the eight mebibytes; the wait before the first alone takes six.
  expect(turns).toBeGreaterThanOrEqual(24);
});

test("a written piece releases its memory when the next one is asked for, the last one with the end", async () => {
  const pieces = Array.from({ length: 5 }, (_, place) => Buffer.alloc(64 * 1024 + place));
  let released = 0;
  const shrink = (bytes: number) => {
    released += bytes;
  };
  let read = 0;
  for await (const piece of streamPieces(pieces, { ...unlimited, shrink })) {
    read += z.instanceof(Buffer).parse(piece).length;
    expect(released).toBeLessThanOrEqual(read);
  }
  const all = pieces.reduce((sum, { length }) => sum + length, 0);
  expect([read, released]).toEqual([all, all]);
});

test("a stream of pieces that is given up before its first turn closes without an error", async () => {
  const stream = streamPieces([Buffer.alloc(10)], unlimited);
  let pushed = 0;
  stream.on("data", () => pushed++);
  stream.destroy();
  await once(stream, "close");
  expect(pushed).toBe(0);
});

test("serialising stops when the client has disconnected", async () => {
  const abort = new AbortController();
  let made = 0;
  function* rows() {
    for (; made < 1_000_000; made++) yield { text: "x".repeat(1_000) };
  }
  const making = jsonArrayMaker(unlimited, abort.signal)(rows());
  await sleep(0);
  abort.abort(new Error("the client has gone"));
  await expect(making).rejects.toThrow("the client has gone");
  expect(made).toBeLessThan(1_000_000);
});

test.each([
  ["of up to 4 KiB takes none", 4_000, 0],
  ["above that takes what it is long", 5_000, 5_002],
  ["in several pieces takes what it is long", 200_000, 200_002],
])("of the memory for answers, one %s", async (_, characters, taken) => {
  let reserved = 0;
  const grow = (bytes: number) => {
    reserved += bytes;
  };
  const memory = { ...unlimited, grow };
  await serializeResponse("x".repeat(characters), memory, forEver);
  expect(reserved).toBe(taken);
});
