import { createRequire } from "node:module";
import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { install } from "./install.ts";

type Fulfilled = { readonly correlationId: number; readonly payload: Buffer };
type Connection = {
  requestQueue: { fulfillRequest(response: Fulfilled): void };
  connect(): Promise<unknown>;
  processData(data: Buffer): void;
};

install();
const logger = { namespace: () => ({ debug: () => {}, error: () => {} }) };
const socketFactory = () => {
  throw new Error("no socket is needed");
};

function makeConnection() {
  const Connection = createRequire(import.meta.url)("kafkajs/src/network/connection.js");
  const connection: Connection = new Connection({ host: "127.0.0.1", port: 9092, logger, socketFactory });
  const received: Fulfilled[] = [];
  connection.requestQueue.fulfillRequest = (response) => void received.push(response);
  return { connection, received };
}

/** A response of a size in bytes, each of which is the number of its position. */
function responseOf(correlationId: number, length: number) {
  const payload = Buffer.from(Uint8Array.from({ length }, (_, at) => (at * 31 + (at >> 8) + correlationId) & 255));
  const head = Buffer.alloc(8);
  head.writeInt32BE(length + 4, 0);
  head.writeInt32BE(correlationId, 4);
  return { correlationId, payload, bytes: Buffer.concat([head, payload]) };
}

function* cut(bytes: Buffer, lengths: readonly number[]): Generator<Buffer> {
  for (let at = 0, index = 0; at < bytes.length; index++) {
    const length = lengths[index % lengths.length] ?? bytes.length;
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

afterEach(() => void vi.restoreAllMocks());

const sizes = fc.oneof(fc.nat(200), fc.integer({ min: 200_000, max: 400_000 }));
const pieces = fc.array(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 10_000, max: 600_000 })), {
  minLength: 1,
  maxLength: 8,
});

test("responses arrive whole and in order, however long they are and however they are cut", () =>
  fc.assert(
    fc.property(fc.array(sizes, { minLength: 1, maxLength: 5 }), pieces, (lengths, cuts) => {
      // Pieces of a few bytes alone would be hundreds of thousands.
      const lengthsOfPieces = [...cuts, 65_536];
      const sent = lengths.map((length, index) => responseOf(index, length));
      const { connection, received } = makeConnection();
      for (const piece of cut(Buffer.concat(sent.map(({ bytes }) => bytes)), lengthsOfPieces))
        connection.processData(piece);
      expect(received.map(({ correlationId }) => correlationId)).toEqual(sent.map((_, index) => index));
      for (const [index, { payload }] of sent.entries()) expect(received[index]?.payload.equals(payload)).toBe(true);
    }),
    { numRuns: 50 },
  ));

test("a long response is not joined at its end", () => {
  const { connection, received } = makeConnection();
  const response = responseOf(7, 8 * 1024 * 1024);
  const concat = vi.spyOn(Buffer, "concat");
  for (const piece of cut(response.bytes, [65_536])) connection.processData(piece);
  expect(received).toHaveLength(1);
  expect(received[0]?.payload.equals(response.payload)).toBe(true);
  const joined = concat.mock.results.map(({ value }) => (value instanceof Buffer ? value.length : 0));
  expect(Math.max(0, ...joined)).toBeLessThan(256 * 1024);
});

test.each([100_000, 1_000_000])(
  "of a response of %i bytes that a lost connection cut, nothing is left for the next",
  async (length) => {
    const { connection, received } = makeConnection();
    connection.processData(responseOf(1, length).bytes.subarray(0, length / 2));
    await expect(connection.connect()).rejects.toThrow("no socket is needed");
    const next = responseOf(2, length);
    for (const piece of cut(next.bytes, [65_536])) connection.processData(piece);
    expect(received.map(({ correlationId }) => correlationId)).toEqual([2]);
    expect(received[0]?.payload.equals(next.payload)).toBe(true);
  },
);
