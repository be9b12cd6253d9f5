import { Readable } from "node:stream";
import { createPace, yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import type { ResponseReservation } from "../limits/response-memory.ts";

/** An array that is serialised already, so that its items need not all be in memory. */
export class JsonArray<Item> {
  declare readonly item?: Item;
  readonly pieces: readonly Buffer[];
  /** The memory of the response that it was made for. Another one may share it, and reserves as much for itself. */
  readonly reservedBy: ResponseReservation;
  constructor(pieces: readonly Buffer[], reservedBy: ResponseReservation) {
    this.pieces = pieces;
    this.reservedBy = reservedBy;
  }
}

/** An item that writes its JSON itself: a large one that need not become a text first. */
export class JsonBytes<Item> {
  declare readonly item?: Item;
  /** Max bytes that it takes, those included that it writes beyond its end. */
  readonly maxBytes: number;
  /** Writes it to memory from an index on. @returns the index after its end. */
  readonly write: (memory: Buffer, start: number) => number;
  constructor(maxBytes: number, write: JsonBytes<Item>["write"]) {
    this.maxBytes = maxBytes;
    this.write = write;
  }
}

/**
 * Serialises the items of a response member one by one.
 * @param signal ends it instead of the request's own, when several requests share the array.
 */
export type ToJsonArray = <Item>(
  items: Iterable<Item | JsonBytes<Item>> | AsyncIterable<Item | JsonBytes<Item>>,
  signal?: Abortable,
) => Promise<JsonArray<Item>>;

/** Responses up to this many characters are not counted: the limits on connections and on pipelining bound them. */
const UNRESERVED = 4 * 1024;
/** The size in which a body is serialised and written. */
const PIECE_BYTES = 64 * 1024;
/** How long to serialise before other requests get their turn. */
const TURN_MS = 2;
/** How much is written before other requests get theirs: a fast reader would take megabytes in one. */
const WRITTEN_BEFORE_YIELD = 1024 * 1024;
/** Arrays with more items are serialised item by item, down to this depth. */
const LARGE_ARRAY = 100;
const MAX_DEPTH = 3;

/** Throws once the client has disconnected or the time limit has passed. */
export type Abortable = Pick<AbortSignal, "throwIfAborted">;

/** Serialises piece by piece, reserves memory for each, and yields to other requests. */
export function createWriter(memory: ResponseReservation, signal: Abortable) {
  const pieces: Buffer[] = [];
  /** What comes before `text`, as far as it is written. */
  let piece = Buffer.alloc(0);
  let written = 0;
  /** What comes last, not yet in bytes. */
  let text = "";
  let turn = performance.now();
  const endPiece = () => {
    memory.grow(written);
    if (written > 0) pieces.push(piece.subarray(0, written));
    [piece, written] = [Buffer.alloc(0), 0];
  };
  const flush = () => {
    endPiece();
    const bytes = Buffer.from(text);
    text = "";
    memory.grow(bytes.length);
    for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
      pieces.push(bytes.subarray(start, start + PIECE_BYTES));
    }
  };
  return {
    write(more: string) {
      text += more;
      if (text.length >= PIECE_BYTES) flush();
    },
    writeBytes({ maxBytes, write }: JsonBytes<unknown>) {
      const needed = Buffer.byteLength(text) + maxBytes;
      if (piece.length - written < needed) {
        // A short response must not hold the memory of a long one: only what is written is reserved.
        const size = Math.max(needed, Math.min(PIECE_BYTES, 2 * piece.length));
        endPiece();
        piece = Buffer.allocUnsafeSlow(size);
      }
      written += piece.write(text, written);
      text = "";
      written = write(piece, written);
    },
    append(array: JsonArray<unknown>) {
      flush();
      for (const shared of array.pieces) {
        if (array.reservedBy !== memory) memory.grow(shared.length);
        pieces.push(shared);
      }
    },
    appendBytes(bytes: Buffer) {
      flush();
      memory.grow(bytes.length);
      pieces.push(bytes);
    },
    async pause() {
      if (performance.now() - turn < TURN_MS) return;
      await yieldToEventLoop();
      turn = performance.now();
      signal.throwIfAborted();
    },
    end() {
      flush();
      return pieces;
    },
  };
}
type Writer = ReturnType<typeof createWriter>;

/** @throws the reservation's error when there is no memory for the response, and the signal's reason. */
export function jsonArrayMaker(memory: ResponseReservation, requestSignal: Abortable): ToJsonArray {
  return async (items, signal = requestSignal) => {
    const writer = createWriter(memory, signal);
    await writeItems(items, writer);
    return new JsonArray(writer.end(), memory);
  };
}

async function writeItems(items: Iterable<unknown> | AsyncIterable<unknown>, writer: Writer): Promise<void> {
  let separator = "[";
  const write = (item: unknown) => {
    writer.write(separator);
    separator = ",";
    if (item instanceof JsonBytes) writer.writeBytes(item);
    else writer.write(JSON.stringify(item));
  };
  await writeEach(items, writer, write);
  writer.write(separator === "[" ? "[]" : "]");
}

/** Writes items and yields to other requests between them. */
export async function writeEach<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  writer: Pick<Writer, "pause">,
  write: (item: Item) => void,
): Promise<void> {
  if (Symbol.asyncIterator in items) {
    for await (const item of items) {
      write(item);
      await writer.pause();
    }
  } else {
    for (const item of items) {
      write(item);
      await writer.pause();
    }
  }
}

/** Serialises a response body, a large one in pieces, with the memory reserved. */
export async function serializeResponse(
  body: unknown,
  memory: ResponseReservation,
  signal: Abortable,
): Promise<string | readonly Buffer[]> {
  if (!isLarge(body, 0)) {
    const text = JSON.stringify(body);
    // Node joins a text with the header, and would write a buffer on its own.
    if (text.length < PIECE_BYTES) {
      if (text.length > UNRESERVED) memory.grow(Buffer.byteLength(text));
      return text;
    }
  }
  const writer = createWriter(memory, signal);
  await writeValue(body, writer, 0);
  const pieces = writer.end();
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  // A few short pieces are not worth a stream.
  return bytes > PIECE_BYTES ? pieces : [Buffer.concat(pieces, bytes)];
}

async function writeValue(value: unknown, writer: Writer, depth: number): Promise<void> {
  if (value instanceof JsonArray) {
    writer.append(value);
  } else if (!isLarge(value, depth)) {
    writer.write(JSON.stringify(value));
  } else if (Array.isArray(value)) {
    await writeItems(value, writer);
  } else {
    let separator = "{";
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      writer.write(`${separator}${JSON.stringify(name)}:`);
      separator = ",";
      await writeValue(member, writer, depth + 1);
    }
    writer.write("}");
  }
}

function isLarge(value: unknown, depth: number): value is object {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.length > LARGE_ARRAY;
  if (value instanceof JsonArray) return true;
  for (const member of Object.values(value)) {
    if (typeof member === "object" && isLarge(member, depth + 1)) return true;
  }
  return false;
}

/** The pieces as a stream that releases the memory of each once it is written. */
export function streamPieces(pieces: readonly Buffer[], memory: ResponseReservation): Readable {
  return Readable.from(takePieces([...pieces], memory), { objectMode: false, highWaterMark: PIECE_BYTES });
}

/** Not a closure: V8 drops the optimised code of one with a full garbage collection. */
async function* takePieces(left: Buffer[], memory: ResponseReservation): AsyncGenerator<Buffer, void, void> {
  const pace = createPace(WRITTEN_BEFORE_YIELD);
  // Requests that share a response get it at the same moment.
  await yieldToEventLoop();
  for (let piece = left.shift(); piece !== undefined; piece = left.shift()) {
    const { length } = piece;
    yield piece;
    memory.shrink(length);
    await new Promise<void>((settle) => pace(length, settle));
  }
}
