import { createHash } from "node:crypto";
import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";

/** A body that a form wrote, for all who ask for it. */
export type RenderedBody = {
  readonly pieces: readonly Buffer[];
  /** Of all pieces together. */
  readonly bytes: number;
  /** Hexadecimal digits: the same exactly as long as the bytes are. */
  readonly digest: string;
};

export type RenderedBodies = {
  /**
   * The body with this key, written when it is not kept. Calls at the same time share it, and its error.
   * @param maxAgeMs for how long it may be kept; left out, as long as there is memory.
   */
  get(key: string, write: () => Promise<RenderedBody>, maxAgeMs?: number): Promise<RenderedBody>;
};

type Chunks = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
type Entry = { readonly body: Promise<RenderedBody>; readonly until: number; bytes: number };

const MAX_BYTES = 128 * 1024 * 1024;
/** Of the memory, for one body. */
const MAX_SHARE = 0.25;
const PIECE_BYTES = 64 * 1024;
/** They take some milliseconds. */
const PIECES_BEFORE_YIELD = 4;

/** Keeps written bodies within a memory limit, those that were asked for last; a large one only while it is written. */
export function keepRenderedBodies(maxBytes = MAX_BYTES): RenderedBodies {
  const entries = new Map<string, Entry>();
  let bytes = 0;
  const remove = (key: string, entry: Entry) => {
    if (entries.get(key) !== entry) return;
    entries.delete(key);
    bytes -= entry.bytes;
  };
  const evict = () => {
    for (const [key, entry] of entries) {
      if (bytes <= maxBytes) return;
      remove(key, entry);
    }
  };
  return {
    async get(key, write, maxAgeMs = Number.POSITIVE_INFINITY) {
      const known = entries.get(key);
      if (known !== undefined && performance.now() < known.until) {
        // To the end: the first are evicted first.
        entries.delete(key);
        entries.set(key, known);
        return known.body;
      }
      if (known !== undefined) remove(key, known);
      const entry: Entry = { body: write(), until: performance.now() + maxAgeMs, bytes: 0 };
      entries.set(key, entry);
      try {
        const body = await entry.body;
        // A large one would evict all others.
        if (body.bytes > maxBytes * MAX_SHARE) remove(key, entry);
        else if (entries.get(key) === entry) {
          entry.bytes = body.bytes;
          bytes += entry.bytes;
          evict();
        }
        return body;
      } catch (error) {
        remove(key, entry);
        throw error;
      }
    },
  };
}

/** @param grow called with the bytes of each piece before it is kept: its error ends the body. */
export async function renderBody(chunks: Chunks, grow: (bytes: number) => void): Promise<RenderedBody> {
  const hash = createHash("sha256");
  const pieces: Buffer[] = [];
  let gathered: Buffer[] = [];
  let length = 0;
  let bytes = 0;
  const flush = () => {
    if (length === 0) return;
    grow(length);
    const piece = Buffer.concat(gathered, length);
    hash.update(piece);
    pieces.push(piece);
    bytes += length;
    gathered = [];
    length = 0;
  };
  for await (const chunk of chunks) {
    const part =
      typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    gathered.push(part);
    length += part.length;
    if (length < PIECE_BYTES) continue;
    flush();
    if (pieces.length % PIECES_BEFORE_YIELD === 0) await yieldToEventLoop();
  }
  flush();
  return { pieces, bytes, digest: hash.digest("hex").slice(0, 32) };
}
